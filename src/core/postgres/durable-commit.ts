/**
 * A commit waits until the server has written it to disk, independent of the settings of role and database. A server with
 * `synchronous_commit = off` may lose the commits of the last 0.6 s. Stricter settings stay.
 *
 * @param reach `transaction`: for the statement's transaction, also behind a pooler, which gives the next one to another session.
 */
export const durableCommitSql = (reach: 'session' | 'transaction'): string => `set_config('synchronous_commit',
    case current_setting('synchronous_commit') when 'off' then 'on' else current_setting('synchronous_commit') end,
    ${reach === 'transaction'})`;
