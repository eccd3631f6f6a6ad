/**
 * Node flags that limit a child process to given sockets, files under `readable` (absolute paths), and `memoryMb` of
 * memory. Other processes, threads, native code and `eval` are denied.
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
