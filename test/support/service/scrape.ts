/** One value of a scrape. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** What a process serves at its METRICS_PORT. */
export interface Scrape {
  readonly text: string;
  readonly samples: readonly Sample[];
  /** The sum of the samples with these labels; undefined: there is none. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined;
}

/** Reads `GET /metrics` of a port on loopback. Throws for anything but 200 and for a line that is not of the text format. */
export async function scrape(port: number): Promise<Scrape> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`GET /metrics responded with ${response.status}: ${text}`);
  const samples = text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map(sampleOf);
  return {
    text,
    samples,
    value(name, labels = {}) {
      const found = samples.filter(
        (sample) =>
          sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
      );
      return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
    },
  };
}

const line = /^(?<name>[a-zA-Z_:][\w:]*)(?:\{(?<labels>.*)\})? (?<value>\S+)$/;
const label = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

function sampleOf(text: string): Sample {
  const { name, labels = '', value } = line.exec(text)?.groups ?? {};
  if (name === undefined || value === undefined) throw new Error(`No line of the text format: ${text}`);
  const pairs = [...labels.matchAll(label)].map(([, key, content]) => [key, content]);
  return { name, labels: Object.fromEntries(pairs), value: Number(value) };
}
