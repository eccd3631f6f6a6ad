import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import lint from '../../.oxlintrc.json' with { type: 'json' };

const root = join(import.meta.dirname, '../..');

/** Modules with which a socket can be opened, or an address looked up. */
const socketModules = [
  'undici',
  'pg',
  'pg-copy-streams',
  'mssql',
  'tedious',
  ...['http', 'https', 'http2', 'net', 'tls', 'dgram', 'dns', 'dns/promises', 'inspector'].map(
    (name) => `node:${name}`,
  ),
];

/** The files that may use one, by what they need it for. */
const users: Readonly<Record<string, readonly string[]>> = {
  'the egress guard and the two clients behind it': [
    'src/core/http/sockets.ts',
    'src/core/http/egress.ts',
    'src/core/http/proxy-tunnel.ts',
    'src/core/http/webhook-post.ts',
  ],
  'connectors of destinations, on sockets that the guard has vetted': [
    'src/core/destinations/postgres/connect.ts',
    'src/core/destinations/postgres/errors.ts',
    'src/core/destinations/postgres/untouched.ts',
    'src/core/destinations/postgres/wire.ts',
    'src/core/destinations/sqlserver/driver/sockets.ts',
  ],
  'the rules of what a host may look like': [
    'src/core/destinations/sql/address-fields.ts',
    'src/core/http/egress-rules.ts',
  ],
  'the driver in a process that can open no socket, on those that it is given': [
    'src/core/destinations/sqlserver/driver/connect.ts',
    'src/core/destinations/sqlserver/driver/driver.ts',
  ],
  'the control database, whose address the operator gives': ['db/client.ts'],
  'the server of the API: sockets that others open': ['src/api/server.ts', 'src/api/gates/wire-errors.ts'],
  'ports of operators: sockets that an orchestrator or a scraper opens': ['src/operator-port.ts'],
  "the exporter of Temporal's SDK in this process, on loopback": ['src/telemetry/metrics/core-exporter.ts'],
  'the command line of authors, which calls the service at the address that its user gives': [
    'src/cli/service/service.ts',
  ],
  'whether the proxy of the operator listens': ['src/admin/doctor/check-egress.ts'],
  'services of development, on loopback, and whether the API responds': [
    'src/dev/embedded/ports.ts',
    'src/dev/embedded/postgres.ts',
    'src/dev/embedded/temporal-ui.ts',
    'src/dev/supervisor.ts',
  ],
  'the demo, which plays the outside world': ['src/dev/demo/destination.ts', 'src/dev/demo/upstream.ts'],
};

describe('sockets', () => {
  it('are opened by the egress guard, the connectors and what is named here, and by nothing else', async () => {
    const found: string[] = [];
    for await (const file of glob('{src,activities,workflows,db}/**/*.ts', { cwd: root })) {
      if (/(\.test|-fixture)\.ts$/.test(file)) continue;
      if (modulesUsed(await readFile(join(root, file), 'utf8')).length > 0) found.push(file.replaceAll('\\', '/'));
    }
    expect(found.toSorted()).toEqual(Object.values(users).flat().toSorted());
  });

  it.each([
    `import { request } from 'undici';`,
    `import http, { type Server } from "node:http";`,
    `import * as tls from 'node:tls';`,
    `import {\n  type Socket,\n  connect,\n} from 'net';`,
    `import 'pg';`,
    `export { Agent } from 'undici';`,
    `const { Connection } = await import('tedious');`,
    `const net = require('node:net');`,
    `const dns = process.getBuiltinModule('dns');`,
  ])('would be seen here: %s', (source) => {
    expect(modulesUsed(source)).toHaveLength(1);
  });

  it.each([`import type { Socket } from 'node:net';`, `import { type Socket, type Server } from 'node:net';`])(
    'are not opened by types: %s',
    (source) => {
      expect(modulesUsed(source)).toEqual([]);
    },
  );

  it('are not opened by globals either: the linter refuses them', () => {
    const [level, ...globals] = lint.rules['no-restricted-globals'];
    expect(level).toBe('error');
    expect(globals).toEqual(['fetch', 'WebSocket', 'EventSource'].map((name) => expect.objectContaining({ name })));
  });
});

const imported = /(?:^|\n)\s*(?:import|export)\s+(?:(?<what>[\w$*{},\s]+?)\s*from\s*)?['"](?<module>[^'"]+)['"]/g;
const loaded = /(?:import|require|getBuiltinModule)\(\s*['"](?<module>[^'"]+)['"]/g;

/** The socket modules of which a source takes more than types. */
function modulesUsed(source: string): readonly string[] {
  const statically = [...source.matchAll(imported)].filter(({ groups }) => !onlyTypes(groups?.['what'] ?? ''));
  return [...statically, ...source.matchAll(loaded)]
    .map(({ groups }) => groups?.['module'] ?? '')
    .filter((name) => socketModules.some((known) => known === name || known === `node:${name}`));
}

function onlyTypes(what: string): boolean {
  if (/^type\s/.test(what)) return true;
  const names = /^\{([^}]*)\}\s*$/.exec(what.trim())?.[1];
  return names !== undefined && names.split(',').every((name) => name.trim() === '' || name.trim().startsWith('type '));
}
