/**
 * Makes the folder, or takes one that is there from everybody else: whoever can write to it decides what we run.
 * @throws Error when it cannot be made, or others can write to it and it is not ours to change that.
 */
export declare function ownFolder(path: string): void;

/** SHA-256 of a file in hexadecimal; null when it is not there. */
export declare function sha256Of(path: string): string | null;
