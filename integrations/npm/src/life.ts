import { translated } from "./errors.js";

/** Whether something can still be used, and the promises that end along with it. @internal */
export class Life {
    /** Why nothing works any more. */
    #end: Error | undefined;
    /** What rejects the promises that are under way. */
    readonly #pending = new Set<(error: Error) => void>();

    get hasEnded(): boolean {
        return this.#end !== undefined;
    }

    /** Ends it: what is pending rejects, and what is called throws. */
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
            // The caller's line, not that of the end.
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
                    // A device that is lost refuses to map first, and says why then.
                    if (error instanceof DOMException || (error instanceof Error && error.name === "Other")) {
                        await new Promise((later) => setTimeout(later, 100));
                    }
                    reject(translated(error));
                })
                .finally(() => this.#pending.delete(reject));
        });
    }
}
