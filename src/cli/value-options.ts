import { type Command, Option } from 'commander';

export const withValues = (command: Command): Command =>
  command
    .addOption(repeated('--param <name=value>', 'a connection param; once for each'))
    .addOption(
      repeated('--secret <name=source>', 'a secret: name=- to type or pipe it, name=env:VARIABLE; once for each'),
    );

export const repeated = (flags: string, description: string): Option =>
  new Option(flags, description).argParser((value: string, before: readonly string[] | undefined) => [
    ...(before ?? []),
    value,
  ]);
