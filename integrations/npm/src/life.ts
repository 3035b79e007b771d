import { translated } from "./errors.js";

/** Lifetime of an object and its pending promises. @internal */
export class Life {
    /** Error that ended the lifetime. */
    #end: Error | undefined;
    /** Functions that reject the pending promises. */
    readonly #pending = new Set<(error: Error) => void>();

    get hasEnded(): boolean {
        return this.#end !== undefined;
    }

    /** Ends the lifetime. Pending promises reject with `error`, and later calls throw it. */
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
            // A new error object has the stack of this call.
            throw new (this.#end.constructor as new (message: string) => Error)(this.#end.message);
        }
    }

    /** Returns a promise that also rejects when this lifetime ends. */
    promised<T>(make: () => Promise<T>): Promise<T> {
        return new Promise((resolve, reject) => {
            this.check();
            this.#pending.add(reject);
            (async () => make())()
                .then(resolve, async (error: unknown) => {
                    // If the device is lost, mapping fails before the loss is reported, so wait for the report.
                    if (error instanceof DOMException || (error instanceof Error && error.name === "Other")) {
                        await new Promise((later) => setTimeout(later, 100));
                    }
                    reject(translated(error));
                })
                .finally(() => this.#pending.delete(reject));
        });
    }
}
