/** Two labels at least, so that no value completes a registered name; `.co.uk` and its like are one. */
const fixedEnd =
  /^(?:[^{}]*|.*\}\}(?!\.(?:com?|org|net|gov|edu|ac|ne|or|go)\.[a-z]{2}(?::\d+)?$)(?:\.[a-z\d-]+){2,}(?::\d+)?)$/i;

/** Whether no value that stands in a URL decides whose host it is. */
export function hasFixedEnd(url: string): boolean {
  const host = /^https?:\/\/(?<host>(?:\{\{.*?\}\}|[^/?#{])+)(?:[/?#]|$)/i.exec(url)?.groups?.['host'];
  return host !== undefined && !host.includes('@') && fixedEnd.test(host);
}
