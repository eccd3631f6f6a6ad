/**
 * All texts of the widget, by language.
 *
 * @typedef {typeof words.en} Words
 */
const words = {
  en: {
    state: {
      healthy: 'Up to date',
      overdue: 'Overdue',
      incomplete: 'Incomplete',
      failing: 'Failing',
      syncing: 'Syncing',
      pending: 'Not synced yet',
      unknown: 'Unknown',
    },
    run: {
      queued: 'Queued',
      running: 'Running',
      succeeded: 'Succeeded',
      failed: 'Failed',
      partial: 'Partial',
      canceled: 'Canceled',
    },
    connection: {
      active: '',
      paused: 'Syncing is paused.',
      error: 'The connection needs attention.',
      pending: 'The connection is not active yet.',
    },
    problem: {
      unavailable: 'The status cannot be loaded at the moment.',
      expired: 'Access has expired. Reload the page.',
      gone: 'This connection does not exist any more.',
    },
    loading: 'Loading…',
    lastSuccess: 'Last success',
    never: 'No success yet',
    runs: 'Recent runs',
    records: { one: 'record', other: 'records' },
    act: { sync: 'Sync now', pause: 'Pause', resume: 'Resume', reauthorize: 'Connect again' },
    failed: 'That did not succeed. Try again in a moment.',
  },
  de: {
    state: {
      healthy: 'Aktuell',
      overdue: 'Überfällig',
      incomplete: 'Unvollständig',
      failing: 'Fehlgeschlagen',
      syncing: 'Wird synchronisiert',
      pending: 'Noch nicht synchronisiert',
      unknown: 'Unbekannt',
    },
    run: {
      queued: 'Wartet',
      running: 'Läuft',
      succeeded: 'Erfolgreich',
      failed: 'Fehlgeschlagen',
      partial: 'Teilweise',
      canceled: 'Abgebrochen',
    },
    connection: {
      active: '',
      paused: 'Die Synchronisierung ist angehalten.',
      error: 'Die Verbindung braucht Aufmerksamkeit.',
      pending: 'Die Verbindung ist noch nicht aktiv.',
    },
    problem: {
      unavailable: 'Der Status kann gerade nicht geladen werden.',
      expired: 'Der Zugang ist abgelaufen. Bitte die Seite neu laden.',
      gone: 'Diese Verbindung gibt es nicht mehr.',
    },
    loading: 'Wird geladen …',
    lastSuccess: 'Letzter Erfolg',
    never: 'Noch kein Erfolg',
    runs: 'Letzte Läufe',
    records: { one: 'Datensatz', other: 'Datensätze' },
    act: {
      sync: 'Jetzt synchronisieren',
      pause: 'Anhalten',
      resume: 'Fortsetzen',
      reauthorize: 'Erneut verbinden',
    },
    failed: 'Das ist nicht gelungen. Bitte gleich noch einmal versuchen.',
  },
};
