/** Shows times in the reader's zone and language, and keeps ages current. */

const inZone = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const clockInZone = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });

/** @type {ReadonlyArray<readonly [below: number, unit: string, size: number]>} */
const ageSteps = [
  [60, 'second', 1],
  [3600, 'minute', 60],
  [86_400, 'hour', 3600],
  [Number.POSITIVE_INFINITY, 'day', 86_400],
];

/**
 * The same words as `agoWords` on the server.
 * @param {number} atMs
 */
function ageWords(atMs) {
  const seconds = Math.round((Date.now() - atMs) / 1000);
  const distance = Math.abs(seconds);
  if (distance < 5) return 'just now';
  const [, unit, size] = ageSteps.find(([below]) => distance < below) ?? [0, 'day', 86_400];
  const amount = Math.floor(distance / size);
  const words = `${amount} ${unit}${amount === 1 ? '' : 's'}`;
  return seconds < 0 ? `in ${words}` : `${words} ago`;
}

/** @param {ParentNode} root */
function showTimes(root) {
  for (const element of root.querySelectorAll('time')) {
    const at = Date.parse(element.dateTime);
    if (Number.isNaN(at)) continue;
    const exact = inZone.format(at);
    if ('ago' in element.dataset) {
      element.title = exact;
      setWords(element, ageWords(at));
    } else setWords(element, 'clock' in element.dataset ? clockInZone.format(at) : exact);
  }
}

/**
 * @param {HTMLElement} element
 * @param {string} words
 */
function setWords(element, words) {
  if (element.textContent !== words) element.textContent = words;
}
