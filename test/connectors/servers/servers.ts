import { startGitea } from './gitea.ts';
import { startKinto } from './kinto.ts';
import { startPocketBase } from './pocketbase.ts';
import type { StartServer } from './real-server.ts';
import { startStripeMock } from './stripe-mock.ts';

/** The servers that are to be had from package registries, by connector. */
export const servers: Readonly<Record<string, StartServer | undefined>> = {
  gitea: startGitea,
  kinto: startKinto,
  pocketbase: startPocketBase,
  stripe: startStripeMock,
};
