import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../support/service/eventually.ts';
import { startServiceProcess } from '../support/service/service-process.ts';
import { unusedPort } from '../support/service/temporal-dev-server.ts';

/** The alerts of `deploy/prometheus/alerts.yaml` over the running processes. */
export interface Alerts extends AsyncDisposable {
  /** Those that became pending or firing after `since`, ms since the epoch, in the order of time. */
  begunSince(since: number): string;
}

/** As Prometheus describes a rule; `duration` is its `for`, in seconds. */
interface Rule {
  readonly type: 'alerting' | 'recording';
  readonly name: string;
  readonly state?: 'inactive' | 'pending' | 'firing';
  readonly duration?: number;
}

const rulesFile = join(import.meta.dirname, '../../deploy/prometheus/alerts.yaml');
/** As in the chart's ServiceMonitor. */
const interval = '30s';

/** Starts the Prometheus at the path in `PROMETHEUS`, and follows what it says; without one nothing is measured. */
export async function followAlerts(metricsPorts: readonly number[]): Promise<Alerts> {
  const command = process.env['PROMETHEUS'];
  if (!command) return { begunSince: () => 'not measured', async [Symbol.asyncDispose]() {} };
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'connector-sync-prometheus-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'prometheus.yml');
  const targets = metricsPorts.map((port) => `127.0.0.1:${port}`);
  const config = {
    global: { scrape_interval: interval, evaluation_interval: interval },
    rule_files: [rulesFile],
    scrape_configs: [{ job_name: 'connector-sync', static_configs: [{ targets }] }],
  };
  // JSON is YAML.
  await writeFile(file, JSON.stringify(config));
  const address = `127.0.0.1:${await unusedPort()}`;
  const args = [`--config.file=${file}`, `--storage.tsdb.path=${folder}/data`, `--web.listen-address=${address}`];
  const plan = { name: 'prometheus', command, args, env: process.env, watchesParent: false };
  const prometheus = startServiceProcess(plan);
  stack.defer(() => prometheus.destroy());
  await eventually('Prometheus is ready', async () => (await fetch(`http://${address}/-/ready`)).ok);
  const changes: (Rule & { readonly at: number })[] = [];
  const poll = async (): Promise<void> => {
    const response = await fetch(`http://${address}/api/v1/rules?type=alert`);
    const { data } = (await response.json()) as { readonly data: { groups: readonly { rules: readonly Rule[] }[] } };
    for (const rule of data.groups.flatMap(({ rules }) => rules)) {
      const known = changes.findLast(({ name }) => name === rule.name)?.state ?? 'inactive';
      if (rule.state !== known) changes.push({ ...rule, at: Date.now() });
    }
  };
  // One that fails is made up for by the next.
  const timer = setInterval(() => void poll().catch(() => undefined), 1000);
  stack.defer(() => clearInterval(timer));
  const opened = stack.move();
  return {
    begunSince(since) {
      const words = changes
        .filter(({ at, state }) => at >= since && state !== 'inactive')
        .map(({ name, state, at, duration }) => {
          const wait = state === 'pending' ? `, fires after ${duration} s` : '';
          return `${name} ${state} after ${Math.round((at - since) / 1000)} s${wait}`;
        });
      return words.join('; ') || 'none';
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
