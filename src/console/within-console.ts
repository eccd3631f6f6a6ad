/** The path as a browser resolves it, if it is within the console, else the first page. */
export function withinConsole(path: string): string {
  const url = URL.parse(path, 'http://console');
  const isWithin = url?.origin === 'http://console' && /^\/console(?:\/|$)/.test(url.pathname) && !path.includes('//');
  return isWithin ? url.pathname + url.search : '/console';
}
