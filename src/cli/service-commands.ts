import type { Command } from 'commander';
import type { Perform } from './output.ts';
import type { CreateArguments } from './service/connections.ts';
import type { LogsArguments } from './service/logs.ts';
import type { SettingsArguments } from './service/oauth.ts';
import type { QuarantineArguments } from './service/quarantine.ts';
import type { RunsArguments } from './service/runs.ts';
import type { ServiceArguments } from './service/service.ts';
import type { RewindArguments, SyncArguments } from './service/sync.ts';
import type { Tools } from './tools.ts';
import { withValues } from './value-options.ts';

/** Each loads its code when it runs. */
export function addServiceCommands(program: Command, tools: Tools, perform: Perform): void {
  addSpecCommands(program, tools, perform);
  addConnectionCommands(program, tools, perform);
  addRunCommands(program, tools, perform);
  addCatalogueCommands(program, tools, perform);
  addOauthCommands(program, tools, perform);
}

function addSpecCommands(program: Command, tools: Tools, perform: Perform): void {
  withProfile(program.command('push'))
    .summary('create or replace the draft of a version')
    .description('Sends a spec to the service: the draft of its version is created, or replaced.')
    .argument('<file>', 'the spec, YAML or JSON')
    .action((file: string, args: ServiceArguments) =>
      perform(async () => (await import('./service/push.ts')).push(tools, file, args)),
    );
  withProfile(program.command('publish'))
    .summary('freeze a draft, so that connections can use it')
    .description('Publishes a draft: from then on it never changes. The tests in it run before, and must pass.')
    .argument('<spec>', 'key@version, or the file whose version it is')
    .action((spec: string, args: ServiceArguments) =>
      perform(async () => (await import('./service/publish.ts')).publish(tools, spec, args)),
    );
  withProfile(program.command('diff'))
    .summary('show what an upgrade from one version to another would do')
    .description(
      'Compares two versions of a spec as an upgrade of a connection does: what is read or delivered again, and what ' +
        'breaks. Two files need no service. One file alone is compared with the newest published version. ' +
        'Exit code 1 when something breaks.',
    )
    .argument('<from>', 'a file, or key@version')
    .argument('[to]', 'a file, or key@version')
    .action((from: string, to: string | undefined, args: ServiceArguments) =>
      perform(async () => (await import('./service/diff.ts')).diff(tools, from, to, args)),
    );
}

function addConnectionCommands(program: Command, tools: Tools, perform: Perform): void {
  const group = program
    .command('connections')
    .summary('create, activate and show connections')
    .description('The connections of the org. Without a command it shows them.');
  withProfile(group.command('list', { isDefault: true }))
    .summary('show the connections')
    .description('Shows the connections: id, status, version of the spec, name.')
    .action((args: ServiceArguments) =>
      perform(async () => (await import('./service/connections.ts')).connections(tools, args)),
    );
  withValues(withProfile(group.command('create')))
    .summary('create a connection of a published version')
    .description('Creates a pending connection of a published version, with its params and secrets.')
    .argument('<spec>', 'key@version, or the file whose version it is')
    .option('--name <name>', 'how it is called; the name of the spec unless given')
    .option('--workspace <name>', 'name or id of its workspace', 'dev')
    .action((spec: string, args: CreateArguments) =>
      perform(async () => (await import('./service/connections.ts')).createConnection(tools, spec, args)),
    );
  withProfile(group.command('activate'))
    .summary('let a connection run')
    .description('Sets a connection active, so that it can run.')
    .argument('<connection>', 'id of the connection')
    .action((connection: string, args: ServiceArguments) =>
      perform(async () => (await import('./service/connections.ts')).activateConnection(tools, connection, args)),
    );
  withProfile(program.command('sync'))
    .summary('run a resource of a connection')
    .description('Requests a run. With --follow waits for its end; exit code 1 when it fails or is canceled.')
    .argument('<connection>', 'id of the connection')
    .argument('<resource>', 'key of the resource')
    .option('--follow', 'wait for the end of the run')
    .action((connection: string, resource: string, args: SyncArguments) =>
      perform(async () => (await import('./service/sync.ts')).sync(tools, connection, resource, args)),
    );
  withProfile(program.command('rewind'))
    .summary('deliver again what came after a time')
    .description(
      'For a destination that was restored to an earlier copy: sets a resource back to that time and requests a run that ' +
        'sends deletes again and delivers all it reads. With --follow waits for its end.',
    )
    .argument('<connection>', 'id of the connection')
    .argument('<resource>', 'key of the resource')
    .requiredOption('--to <time>', 'when the copy was made, or earlier; ISO 8601')
    .option('--follow', 'wait for the end of the run')
    .action((connection: string, resource: string, args: RewindArguments) =>
      perform(async () => (await import('./service/sync.ts')).rewind(tools, connection, resource, args)),
    );
}

function addRunCommands(program: Command, tools: Tools, perform: Perform): void {
  withProfile(program.command('runs'))
    .summary('show runs')
    .description('Shows runs with their counts, newest first.')
    .option('--connection <id>', 'only of this connection')
    .option('--resource <key>', 'only of this resource')
    .option('--status <status>', 'only with this status')
    .option('--limit <count>', 'runs, at most', '20')
    .action((args: RunsArguments) => perform(async () => (await import('./service/runs.ts')).runs(tools, args)));
  withProfile(program.command('calls'))
    .summary('show the requests of a run')
    .description('Shows the requests that a run sent, without secrets. --json has headers and bodies.')
    .argument('<run>', 'id of the run')
    .action((run: string, args: ServiceArguments) =>
      perform(async () => (await import('./service/calls.ts')).calls(tools, run, args)),
    );
  withProfile(program.command('quarantine'))
    .summary('show quarantined records')
    .description('Shows the quarantined records of a connection and why each is invalid. --json has the records.')
    .argument('<connection>', 'id of the connection')
    .option('--open', 'only those that are not resolved')
    .action((connection: string, args: QuarantineArguments) =>
      perform(async () => (await import('./service/quarantine.ts')).quarantine(tools, connection, args)),
    );
  withProfile(program.command('logs'))
    .summary('show the latest runs of a connection with their requests')
    .description('Shows the latest runs of a connection with their requests, oldest first.')
    .argument('<connection>', 'id of the connection')
    .option('--resource <key>', 'only of this resource')
    .option('--runs <count>', 'runs to begin with', '5')
    .option('--follow', 'go on with what comes, until Ctrl-C')
    .action((connection: string, args: LogsArguments) =>
      perform(async () => (await import('./service/logs.ts')).logs(tools, connection, args)),
    );
}

function addCatalogueCommands(program: Command, tools: Tools, perform: Perform): void {
  const catalogue = program
    .command('catalogue')
    .summary('use the connectors that come with the service')
    .description('The connectors that come with the service.');
  withProfile(catalogue.command('list'))
    .summary('show them')
    .description('Shows the connectors that come with the service, their resources, and how they were verified.')
    .action((args: ServiceArguments) =>
      perform(async () => (await import('./service/catalogue.ts')).listCatalogue(tools, args)),
    );
  withProfile(catalogue.command('add'))
    .summary('make one of them a draft of your own')
    .description('Creates a draft from a connector that comes with the service, or replaces that draft.')
    .argument('<key>', 'key of the connector')
    .action((key: string, args: ServiceArguments) =>
      perform(async () => (await import('./service/catalogue.ts')).addFromCatalogue(tools, key, args)),
    );
}

function addOauthCommands(program: Command, tools: Tools, perform: Perform): void {
  const oauth = program
    .command('oauth')
    .summary('say how customers may authorize connections')
    .description('How customers of the org may authorize connections. Without a command it shows the settings.');
  withProfile(oauth.command('show', { isDefault: true }))
    .summary('show the settings')
    .description('Shows where customers may be sent to, and whether authorizations have to be confirmed.')
    .action((args: ServiceArguments) =>
      perform(async () => (await import('./service/oauth.ts')).showSettings(tools, args)),
    );
  withProfile(oauth.command('apps'))
    .summary('list the OAuth apps of the org')
    .description('Lists the clients of the org that specs name by `auth.app`; secrets are never shown.')
    .action((args: ServiceArguments) =>
      perform(async () => (await import('./service/oauth.ts')).listApps(tools, args)),
    );
  withProfile(oauth.command('set'))
    .summary('change the settings')
    .description('Changes the settings; what is not named stays as it is.')
    .option('--return-origin <origin...>', 'the origins that customers may be sent to, instead of those before')
    .option('--require-confirmation', 'refuse authorizations that your server does not confirm')
    .option('--no-require-confirmation', 'let the callback alone connect an account')
    .action((args: SettingsArguments) =>
      perform(async () => (await import('./service/oauth.ts')).changeSettings(tools, args)),
    );
}

const withProfile = (command: Command): Command =>
  command.option('--profile <name>', 'the service to call, instead of the one in use');
