import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ConfigError, describeVariables, loadConfig } from './config.ts';

const key = (fill: number): string => Buffer.alloc(32, fill).toString('base64');

function issuesOf(env: NodeJS.ProcessEnv): readonly string[] {
  try {
    loadConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.messages;
    throw error;
  }
  return [];
}

describe('loadConfig', () => {
  it('needs nothing in development', () => {
    const config = loadConfig({});
    expect(config).toMatchObject({ host: '127.0.0.1', port: 3100, publicUrl: 'http://localhost:3100' });
    expect(config).toMatchObject({ databaseUrl: null, temporalConfigured: false, secretsKeys: null });
    expect(config.dataDir).toBe(join(process.cwd(), '.data'));
  });

  it('names all issues at once, with the expected form', () => {
    const messages = issuesOf({
      PORT: '70000',
      EGRESS_ALLOW_HTTP: 'yes',
      LOG_LEVEL: 'loud',
      DATABASE_URL: 'mysql://x',
    });
    expect(messages).toEqual([
      'PORT must be an integer from 1 to 65535',
      'DATABASE_URL must be a URL that starts with postgres:// or postgresql://',
      'EGRESS_ALLOW_HTTP must be 0 or 1',
      'LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent',
    ]);
  });

  it.each([
    ['EGRESS_ALLOW', '127.0.0.1'],
    ['EGRESS_ALLOW', '169.254.169.254:80'],
    ['EGRESS_DENY', 'example.com'],
    ['EMBED_ALLOWED_ORIGINS', 'app.example.com'],
    ['EMBED_ALLOWED_ORIGINS', 'https://app.example.com/'],
    ['EMBED_ALLOWED_ORIGINS', '*,https://app.example.com'],
  ])('refuses %s=%s before anything starts', (name, value) => {
    expect(issuesOf({ [name]: value })).toEqual([expect.stringMatching(new RegExp(`^${name} must be .*separated by`))]);
  });

  it('lets pages of every origin show a connection by default', () => {
    expect(loadConfig({}).embedAllowedOrigins).toBe('*');
    const EMBED_ALLOWED_ORIGINS = 'https://a.example, http://localhost:8080';
    const { embedAllowedOrigins } = loadConfig({ EMBED_ALLOWED_ORIGINS });
    expect(embedAllowedOrigins).toEqual(['https://a.example', 'http://localhost:8080']);
  });

  it('versions the workers with a name and a build, and with neither they are not versioned', () => {
    const [name, build] = [{ CSS_DEPLOYMENT_NAME: 'connector-sync' }, { CSS_BUILD_ID: '1.4.0+3f2a' }];
    expect(loadConfig({ ...name, ...build })).toMatchObject({
      cssDeploymentName: 'connector-sync',
      cssBuildId: '1.4.0+3f2a',
    });
    expect(loadConfig({})).toMatchObject({ cssDeploymentName: null, cssBuildId: null });
    expect(issuesOf(name)).toEqual([
      expect.stringContaining('CSS_BUILD_ID must be set together with CSS_DEPLOYMENT_NAME'),
    ]);
    expect(issuesOf(build)).toEqual([
      expect.stringContaining('CSS_DEPLOYMENT_NAME must be set together with CSS_BUILD_ID'),
    ]);
    expect(issuesOf({ CSS_DEPLOYMENT_NAME: 'a.b', ...build })).toEqual([
      expect.stringContaining('CSS_DEPLOYMENT_NAME must be 1 to 63'),
    ]);
  });

  it('never shows a faulty value', () => {
    const messages = issuesOf({
      SECRETS_KEYS: 'k1:hunter2',
      DATABASE_URL: 'http://me:hunter2@db',
      DEFAULT_DESTINATION: '{"password":"hunter2"',
      WORKER_QUEUES: 'hunter2',
      EGRESS_PROXY: 'https://me:hunter2@proxy:4750',
    });
    expect(messages).toHaveLength(5);
    expect(messages.join('\n')).not.toContain('hunter2');
  });

  it('refuses production without database, Temporal and keys', () => {
    const messages = issuesOf({ NODE_ENV: 'production' });
    expect(messages.map((issue) => /[A-Z_]{8,}/.exec(issue)?.[0])).toEqual([
      'SECRETS_KEYS',
      'DATABASE_URL',
      'TEMPORAL_ADDRESS',
    ]);
  });

  it.each(['TEMPORAL_ADDRESS', 'TEMPORAL_PROFILE', 'TEMPORAL_CONFIG_FILE'])(
    'takes %s as the place of Temporal',
    (name) => {
      expect(loadConfig({ [name]: 'x' }).temporalConfigured).toBe(true);
    },
  );

  it('listens on every address in production', () => {
    const env = { NODE_ENV: 'production', DATABASE_URL: 'postgres://db/x', TEMPORAL_ADDRESS: 't:7233' };
    expect(loadConfig({ ...env, SECRETS_KEYS: `k1:${key(1)}` }).host).toBe('0.0.0.0');
  });

  it('takes an empty variable as unset', () => {
    expect(loadConfig({ PORT: '', DATABASE_URL: ' ' })).toMatchObject({ port: 3100, databaseUrl: null });
  });

  it('keeps the order of the key ring', () => {
    const ring = loadConfig({ SECRETS_KEYS: `k2:${key(2)},k1:${key(1)}` }).secretsKeys;
    expect(ring?.map(({ id, key: bytes }) => [id, bytes[0], bytes.length])).toEqual([
      ['k2', 2, 32],
      ['k1', 1, 32],
    ]);
  });

  it.each([
    ['a short key', `k1:${Buffer.alloc(16).toString('base64')}`],
    ['a repeated id', `k1:${key(1)},k1:${key(2)}`],
    ['a missing id', key(1)],
    ['an empty entry', `k1:${key(1)},`],
  ])('refuses a key ring with %s', (_, ring) => {
    expect(issuesOf({ SECRETS_KEYS: ring })).toHaveLength(1);
  });

  it('reads the default destination as an object and nothing else', () => {
    expect(loadConfig({ DEFAULT_DESTINATION: '{"kind":"postgres"}' }).defaultDestination).toEqual({ kind: 'postgres' });
    expect(issuesOf({ DEFAULT_DESTINATION: '[1]' })).toEqual(['DEFAULT_DESTINATION must be a JSON object']);
  });

  it('reads the retry schedule of events, in seconds', () => {
    expect(loadConfig({ WEBHOOK_RETRY_SCHEDULE_SECONDS: ' 5, 30,120 ' }).webhookRetryScheduleSeconds).toEqual([
      5, 30, 120,
    ]);
    for (const failing of ['5,', '-1', '5;30', '1.5']) {
      expect(issuesOf({ WEBHOOK_RETRY_SCHEDULE_SECONDS: failing })).toEqual([
        'WEBHOOK_RETRY_SCHEDULE_SECONDS must be whole seconds, separated by commas, such as 5,30,120',
      ]);
    }
  });
});

describe('describeVariables', () => {
  it('explains every variable', () => {
    for (const { meaning, form } of describeVariables()) {
      expect(meaning).not.toBe('');
      expect(form).not.toBe('');
    }
  });
});
