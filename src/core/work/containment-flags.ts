/**
 * What Node denies a child process: sockets but those that it is given, files but those under `readable` (absolute paths),
 * other processes, threads, native code, `eval`, memory above `memoryMb`.
 */
export const containmentFlags = ({
  memoryMb,
  readable,
}: {
  readonly memoryMb: number;
  readonly readable: readonly string[];
}): readonly string[] => [
  `--max-old-space-size=${memoryMb}`,
  '--permission',
  ...readable.map((path) => `--allow-fs-read=${path}`),
  '--disable-proto=delete',
  '--disallow-code-generation-from-strings',
];
