/** A package of the registry, and the digest of its archive. */
export interface Package {
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
}

/** Runs a program to its end. */
export type Run = (
  program: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly stdio: unknown; readonly shell: boolean },
) => Promise<{ readonly code: number | null }>;

/** The archive of a package, of which nothing was opened. @throws Error when it has another digest. */
export declare function fetchPackage(wanted: Package, run: Run): Promise<Buffer>;

/** Installs a package that needs no others below a folder. @throws Error when its archive has another digest. */
export declare function installPackage(
  wanted: Package,
  options: { readonly prefix: string; readonly run: Run },
): Promise<void>;
