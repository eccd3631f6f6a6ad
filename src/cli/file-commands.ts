import type { Command } from 'commander';
import type { ImportArguments } from './local/import-file.ts';
import type { ReadArguments } from './local/read-arguments.ts';
import type { RecordArguments } from './local/record.ts';
import type { Perform } from './output.ts';
import type { Tools } from './tools.ts';
import { repeated, withValues } from './value-options.ts';

const limitByDefault = '20';

/** Commands on a file need no service; each loads its code when it runs. */
export function addFileCommands(program: Command, tools: Tools, perform: Perform): void {
  program
    .command('validate')
    .summary('check a spec and run its tests')
    .description(
      'Checks a spec as the service does, its tests included, and shows every issue: path and message, and in a YAML ' +
        'file line and column. Exit code 1 when there is one.',
    )
    .argument('<file>', 'the spec, YAML or JSON')
    .action((file: string) => perform(async () => (await import('./local/validate.ts')).validate(tools, file)));
  program
    .command('test')
    .summary('run the tests inside a spec, offline')
    .description('Runs the tests inside a spec by the engine, against their mocks alone, and shows what differs.')
    .argument('<file>', 'the spec, YAML or JSON')
    .action((file: string) => perform(async () => (await import('./local/run-tests.ts')).runTests(tools, file)));
  withReadOptions(
    program
      .command('try')
      .summary('read from the real API and show what a run would deliver')
      .description(
        'Reads a resource from the real API, on this machine, by the engine of the service: logins, pages, retries, rate ' +
          'limits. Shows requests, records, rows, and invalid records with their reasons. Nothing is written anywhere.',
      ),
  ).action((file: string, options: ReadArguments) =>
    perform(async () => (await import('./local/try.ts')).tryResource(tools, file, options)),
  );
  withReadOptions(
    program
      .command('record')
      .summary('read from the real API and append the read to the tests of the file')
      .description(
        'Reads as css try does, then appends the requests and responses as a test to the file. Values of secrets are ' +
          'replaced; the records of the API are not. The comments of a YAML file stay.',
      ),
  )
    .option('--name <name>', 'name of the test')
    .action((file: string, options: RecordArguments) =>
      perform(async () => (await import('./local/record.ts')).record(tools, file, options)),
    );
  addImport(program, tools, perform);
}

function addImport(program: Command, tools: Tools, perform: Perform): void {
  program
    .command('import')
    .summary('make a spec from a document of another format')
    .description(
      'Makes a spec from a document of another format, and says the outcome of each of its parts. Without --out the spec ' +
        'goes to stdout and the report to stderr.',
    )
    .argument(
      '<format>',
      'airbyte: a low-code manifest, each stream becomes a resource; openapi: an OpenAPI document or Swagger 2, each GET that returns a list does',
    )
    .argument('<file>', 'the document, JSON or YAML')
    .option('--out <folder>', 'write the spec into this folder, as KEY.yaml; an existing file is not replaced')
    .option('--key <key>', 'the key of the spec; made of the title unless given')
    .action((format: string, file: string, options: ImportArguments) =>
      perform(async () => (await import('./local/import-file.ts')).importFile(tools, format, file, options)),
    );
}

const withReadOptions = (command: Command): Command =>
  withValues(
    command
      .argument('<file>', 'the spec, YAML or JSON')
      .option('--resource <key>', 'the resource to read; not needed when the spec has only one'),
  )
    .option('--access-token <source>', 'for an API where a person must sign in: a token, - or env:VARIABLE')
    .addOption(repeated('--allow <host:port>', 'let this address through although it is not public; once for each'))
    .option('--limit <count>', 'records to read, at most', limitByDefault);
