import type { Command } from 'commander';
import { usageError } from './command-error.ts';
import { type CommandResult, type Perform, table } from './output.ts';
import { readSecrets, secretSource } from './secret-input.ts';
import { profileName, profilesPath, readProfiles, writeProfiles } from './service/profiles.ts';
import { baseUrl } from './service/service-address.ts';
import type { Tools } from './tools.ts';

export function addProfileCommands(program: Command, tools: Tools, perform: Perform): void {
  const profile = program
    .command('profile')
    .summary('choose the service to work with')
    .description('The services that you work with, and the API key for each. The file can be read only by you.');
  profile
    .command('add')
    .summary('add a service, and use it')
    .description(
      'Adds a service, or replaces it, and uses it from then on. Asks for the API key, or reads it from stdin.',
    )
    .argument('<name>', 'a name of your choice')
    .requiredOption('--url <url>', 'address of the service, such as http://localhost:3100')
    .option('--api-key <source>', 'where the API key is: - to type or pipe it, or env:VARIABLE', '-')
    .action((name: string, options: AddArguments) => perform(() => add(tools, name, options)));
  profile
    .command('list')
    .summary('show the services')
    .description('Shows the services; the one in use has a star. No key is shown.')
    .action(() => perform(() => list(tools)));
  profile
    .command('use')
    .summary('use another service')
    .description('Uses another service from now on.')
    .argument('<name>', 'the profile')
    .action((name: string) => perform(() => use(tools, name)));
  profile
    .command('remove')
    .summary('remove a service and its key')
    .description('Removes a service and its key from the file. The key stays valid at the service.')
    .argument('<name>', 'the profile')
    .action((name: string) => perform(() => remove(tools, name)));
}

interface AddArguments {
  readonly url: string;
  readonly apiKey: string;
}

async function add(tools: Tools, given: string, options: AddArguments): Promise<CommandResult> {
  const name = profileName(given);
  const url = baseUrl('--url', options.url);
  const source = secretSource('--api-key', options.apiKey);
  const { profiles } = await readProfiles(tools);
  const [apiKey = ''] = (await readSecrets(tools, [{ name: `API key of ${name}`, source }])).values();
  await writeProfiles(tools, { current: name, profiles: { ...profiles, [name]: { url, apiKey: apiKey.trim() } } });
  return {
    json: { name, url, current: true },
    lines: [`${name} is in use: ${url}  (stored in ${profilesPath(tools)})`],
  };
}

async function list(tools: Tools): Promise<CommandResult> {
  const { current, profiles } = await readProfiles(tools);
  const all = Object.entries(profiles).map(([name, { url }]) => ({ name, url, current: name === current }));
  const rows = all.map((one) => [one.current ? '*' : ' ', one.name, one.url]);
  return {
    json: all,
    lines: rows.length === 0 ? ['There is no profile. Add one: css profile add NAME --url URL'] : table(rows),
  };
}

async function use(tools: Tools, name: string): Promise<CommandResult> {
  const { profiles } = await readProfiles(tools);
  const url = known(profiles, name).url;
  await writeProfiles(tools, { current: name, profiles });
  return { json: { name, url, current: true }, lines: [`${name} is in use: ${url}`] };
}

async function remove(tools: Tools, name: string): Promise<CommandResult> {
  const { current, profiles } = await readProfiles(tools);
  known(profiles, name);
  const { [name]: _removed, ...rest } = profiles;
  await writeProfiles(tools, { current: current === name ? null : current, profiles: rest });
  return { json: { name, removed: true }, lines: [`${name} is removed`] };
}

function known<Entry>(profiles: Readonly<Record<string, Entry>>, name: string): Entry {
  const entry = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (entry === undefined) throw usageError(`There is no profile "${name}". css profile list shows them.`);
  return entry;
}
