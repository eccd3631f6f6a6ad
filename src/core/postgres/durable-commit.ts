/**
 * Sets, as SQL, that a commit is one: it waits until the server has written it down, whatever its role or database is set to. A
 * server with `synchronous_commit = off` may lose what it has committed in the last 0.6 s. Stricter settings stay.
 *
 * @param reach `transaction`: of the statement's transaction, also behind a pooler, which gives the next one to another session.
 */
export const durableCommitSql = (reach: 'session' | 'transaction'): string => `set_config('synchronous_commit',
    case current_setting('synchronous_commit') when 'off' then 'on' else current_setting('synchronous_commit') end,
    ${reach === 'transaction'})`;
