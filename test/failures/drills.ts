import { syncRunId } from '../../workflows/contract.ts';
import { eventually } from '../support/service/eventually.ts';
import type { UpstreamRecord } from '../support/upstream/upstream.ts';
import { contacts } from './customers.ts';
import type { Subject } from './lookout.ts';
import { newRecords, type Scene } from './scene.ts';

/** A failure, and its repair. */
export interface Drill {
  readonly key: string;
  readonly failure: string;
  /** Where it shows, and where something may be lost or doubled. */
  readonly subjects: readonly Subject[];
  /** Seconds after which it is repaired at the latest. */
  readonly holdMax?: number;
  cause(): Promise<void> | void;
  repair(): Promise<void> | void;
}

/** Groups of failures that happen at the same time, as they concern different customers. */
export const drillsOf = (scene: Scene): readonly (readonly Drill[])[] => [
  [refusedToken(scene), wrongPassword(scene), silentApi(scene)],
  [invalidRecords(scene), readOnly(scene), fullDisk(scene), failingEndpoint(scene)],
  [killedWorker(scene)],
  [temporalDown(scene)],
  [databaseDown(scene)],
];

const refusedToken = ({ initech }: Scene): Drill => ({
  key: 'a',
  failure: 'the API responds with 401',
  subjects: [initech],
  cause: () => void (initech.faults.refuses = true),
  repair: () => void (initech.faults.refuses = false),
});

function wrongPassword({ stack, globex }: Scene): Drill {
  const wrong = new URL(globex.destination.url);
  wrong.password = 'wrong';
  const store = async (testDatabase: string) => {
    const { status } = await stack.org.call('PATCH', `/connections/${globex.id}`, {
      body: { secrets: { testDatabase } },
    });
    if (status !== 200) throw new Error(`The secret is not stored: ${status}`);
  };
  return {
    key: 'b',
    failure: "the destination's password is wrong",
    subjects: [globex],
    cause: () => store(wrong.href),
    repair: () => store(globex.destination.url),
  };
}

const silentApi = ({ hooli }: Scene): Drill => ({
  key: 'c',
  failure: 'the API does not respond',
  subjects: [hooli],
  cause: () => hooli.upstream.pause(),
  repair: () => hooli.upstream.resume(),
});

function invalidRecords({ initech }: Scene): Drill {
  let invalid: readonly UpstreamRecord[] = [];
  return {
    key: 'd',
    failure: '40 records are invalid',
    subjects: [initech],
    cause() {
      invalid = newRecords(40, 'no address');
      initech.upstream.store(contacts).put(...invalid);
    },
    repair() {
      const corrected = { email: 'new@example.com', updated_at: new Date().toISOString() };
      initech.put(...invalid.map((record) => ({ ...record, ...corrected })));
    },
  };
}

function readOnly({ globex: { destination, ...globex } }: Scene): Drill {
  const name = new URL(destination.url).pathname.slice(1);
  const sessions = `select pg_terminate_backend(pid) from pg_stat_activity
    where datname = '${name}' and application_name <> 'test'`;
  const change = async (setting: string) => {
    // Our own sessions are read-only as well.
    await destination.query(`begin read write; alter database ${name} ${setting}; commit`);
    await destination.query(sessions);
  };
  return {
    key: 'h',
    failure: 'the destination is read-only',
    subjects: [globex],
    cause: () => change('set default_transaction_read_only = on'),
    repair: () => change('reset default_transaction_read_only'),
  };
}

/** A trigger says what PostgreSQL says then. */
const fullDisk = ({ hooli }: Scene): Drill => ({
  key: 'j',
  failure: "the destination's disk is full",
  subjects: [hooli],
  cause: async () => {
    await hooli.destination.query(`
      create function full_disk() returns trigger language plpgsql as $$ begin
        raise 'could not extend file: No space left on device' using errcode = 'disk_full';
      end $$;
      create trigger full_disk before insert on ${contacts} for each statement execute function full_disk()`);
  },
  repair: async () => void (await hooli.destination.query('drop function full_disk() cascade')),
});

const failingEndpoint = ({ partner }: Scene): Drill => ({
  key: 'i',
  failure: 'an endpoint for events responds with 500',
  subjects: [partner],
  cause: () => void (partner.fails = true),
  repair: () => void (partner.fails = false),
});

function killedWorker({ stack, hooli, workers, all }: Scene): Drill {
  const { upstream, faults, id: connectionId } = hooli;
  let killed = workers[0];
  return {
    key: 'e',
    failure: 'a worker is killed in the middle of a backfill',
    subjects: all,
    async cause() {
      // Their cursor stays where it was, so only a backfill finds them.
      const changed = upstream
        .store(contacts)
        .list()
        .map((record) => ({ ...record, name: `Again ${record.id}` }));
      hooli.put(...changed);
      faults.latencyMs = 200;
      const pages = upstream.requested(upstream.journal.length + 20);
      const body = { resource: contacts };
      const { body: run } = await stack.org.call('POST', `/connections/${connectionId}/backfill`, { body });
      await pages;
      const workflowId = syncRunId({ connectionId, resourceKey: contacts, runId: run.id });
      killed = await eventually('a worker has the backfill', async () => {
        const { raw } = await stack.temporal.client.workflow.getHandle(workflowId).describe();
        const identity = raw.pendingActivities?.[0]?.lastWorkerIdentity;
        return workers.find((worker) => identity?.startsWith(`${worker.process.pid}@`));
      });
      await killed.process.kill('SIGKILL');
    },
    async repair() {
      faults.latencyMs = 0;
      if (killed) killed.process = await stack.startWorker(killed.settings);
    },
  };
}

const temporalDown = ({ stack, all }: Scene): Drill => ({
  key: 'f',
  failure: 'Temporal is down for 60 s',
  subjects: all,
  holdMax: 60,
  cause: () => stack.temporal.stop(),
  repair: () => stack.temporal.start(),
});

const databaseDown = ({ database, all }: Scene): Drill => ({
  key: 'g',
  failure: 'the control database is stopped at once, for 30 s',
  subjects: all,
  holdMax: 30,
  cause: () => database.stop(),
  repair: () => database.start(),
});
