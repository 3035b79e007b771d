import { translated } from "./errors.js";

/** Lifetime of an object and its pending promises. @internal */
export class Life {
    /** Reason of the end. */
    #end: Error | undefined;
    /** Rejects the pending promises. */
    readonly #pending = new Set<(error: Error) => void>();

    get hasEnded(): boolean {
        return this.#end !== undefined;
    }

    /** Ends the lifetime: pending promises reject, and later calls throw. */
    end(error: Error): void {
        if (this.#end !== undefined) {
            return;
        }
        this.#end = error;
        for (const reject of this.#pending) {
            reject(error);
        }
        this.#pending.clear();
    }

    check(): void {
        if (this.#end !== undefined) {
            // A new error has the caller's stack.
            throw new (this.#end.constructor as new (message: string) => Error)(this.#end.message);
        }
    }

    /** A promise that also rejects when this ends. */
    promised<T>(make: () => Promise<T>): Promise<T> {
        return new Promise((resolve, reject) => {
            this.check();
            this.#pending.add(reject);
            (async () => make())()
                .then(resolve, async (error: unknown) => {
                    // A lost device first refuses to map and reports the reason later.
                    if (error instanceof DOMException || (error instanceof Error && error.name === "Other")) {
                        await new Promise((later) => setTimeout(later, 100));
                    }
                    reject(translated(error));
                })
                .finally(() => this.#pending.delete(reject));
        });
    }
}
