/** The rules of `scripts/check-layers.ts`: which room may import which, and the floors inside two of them. */

/**
 * Rooms of each folder from the lowest to the highest; `` are the files that lie in the folder itself. ARCHITECTURE.md and
 * CONTRIBUTING.md show those of `src/core`, and `test/contract/readme.test.ts` compares them.
 */
export const floors: Readonly<Record<string, readonly string[]>> = {
  'src/core': [
    '',
    'work',
    'json',
    'resources',
    'crypto',
    'time',
    'schedule',
    'json-schema',
    'expressions',
    'spec',
    'model',
    'http',
    'source',
    'pipeline',
    'postgres',
    'destinations',
    'run',
    'memory-run',
    'spec-tests',
    'import',
    'hooks',
    'events',
    'deliveries',
  ],
  'db/queries/runs': ['records', 'batches', '', 'lanes', 'maintenance'],
};

/**
 * What each room may import beside itself, types included. A room is a folder of `src`, a file at the top of `src`, or one of
 * `db`, `activities` and `workflows`. A room that is missing here is an error.
 */
export const roomImports: Readonly<Record<string, readonly string[] | 'everything'>> = {
  'src/core': ['package.json'],
  'src/catalogue': ['src/core'],
  'src/error-code.ts': [],
  'src/listening.ts': ['src/error-code.ts'],
  'src/operator-port.ts': ['src/listening.ts'],
  'src/log.ts': ['src/config'],
  'src/config': ['db', 'src/core', 'src/deps.ts', 'src/error-code.ts', 'src/log.ts'],
  db: ['src/core'],
  workflows: ['activities'],
  'src/temporal': [
    'db',
    'src/config',
    'src/core',
    'src/log.ts',
    'src/operator-port.ts',
    'src/database-readiness.ts',
    'workflows',
  ],
  'src/database-readiness.ts': ['db'],
  'src/deps.ts': ['db', 'src/config', 'src/core', 'src/log.ts', 'src/temporal'],
  'src/connect': ['db', 'src/core', 'src/deps.ts', 'src/log.ts'],
  'src/control': ['db', 'src/connect', 'src/core', 'src/deps.ts'],
  activities: ['db', 'src/connect', 'src/core', 'src/deps.ts', 'src/temporal', 'workflows'],
  'src/maintenance': ['db', 'src/connect', 'src/control', 'src/core', 'src/deps.ts', 'src/temporal'],
  'src/telemetry': ['db', 'src/config', 'src/core', 'src/deps.ts', 'src/operator-port.ts', 'src/temporal'],
  'src/api': [
    'db',
    'src/catalogue',
    'src/control',
    'src/core',
    'src/deps.ts',
    'src/listening.ts',
    'src/log.ts',
    'src/database-readiness.ts',
  ],
  'src/console': ['db', 'src/api', 'src/connect', 'src/control', 'src/core', 'src/deps.ts', 'workflows'],
  'src/admin': [
    'db',
    'src/config',
    'src/connect',
    'src/control',
    'src/core',
    'src/deps.ts',
    'src/error-code.ts',
    'src/log.ts',
    'src/maintenance',
    'src/temporal',
    'workflows',
  ],
  'src/cli': ['src/admin', 'src/config', 'src/connect', 'src/core'],
  'src/process': [],
  'src/dev': ['db', 'src/config', 'src/control', 'src/core', 'src/error-code.ts', 'src/log.ts', 'src/process'],
  'src/admin.ts': 'everything',
  'src/api-server.ts': 'everything',
  'src/css.ts': 'everything',
  'src/migrate.ts': 'everything',
  'src/start.ts': 'everything',
  'src/worker.ts': 'everything',
};
