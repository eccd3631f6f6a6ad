/** WebCrypto of browsers and runtimes; Node 18 has it in a module only. */
export async function webCrypto(): Promise<typeof globalThis.crypto> {
  if (globalThis.crypto !== undefined) return globalThis.crypto;
  // A name in a variable, as bundlers for browsers would look for the module.
  const name = 'node:crypto';
  const { webcrypto } = (await import(/* webpackIgnore: true */ /* @vite-ignore */ name)) as {
    webcrypto: typeof globalThis.crypto;
  };
  return webcrypto;
}
