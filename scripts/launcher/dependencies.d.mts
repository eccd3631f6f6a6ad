/** Installs the packages that node_modules lacks; one process at a time, and never in a folder that something runs from. */
export declare function installDependencies(options: {
  readonly root: string;
  readonly node: string;
  readonly env: NodeJS.ProcessEnv;
  readonly run: (
    program: string,
    args: readonly string[],
    options: object,
  ) => Promise<{ readonly code: number | null }>;
}): Promise<void>;
