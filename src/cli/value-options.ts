import { type Command, Option } from 'commander';

/** Adds the options that give a connection its values. */
export const withValues = (command: Command): Command =>
  command
    .addOption(repeated('--param <name=value>', 'a connection param; once for each'))
    .addOption(
      repeated('--secret <name=source>', 'a secret: name=- to type or pipe it, name=env:VARIABLE; once for each'),
    );

/** An option that may be given many times; its values in their order. */
export const repeated = (flags: string, description: string): Option =>
  new Option(flags, description).argParser((value: string, before: readonly string[] | undefined) => [
    ...(before ?? []),
    value,
  ]);
