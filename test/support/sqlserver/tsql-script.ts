import { type Expression, parseExpression, type Scope, type TsqlValue } from './tsql-expression.ts';
import { createTokens, type Tokens } from './tsql-tokens.ts';

/** An error of the server's. */
export class TsqlError extends Error {
  override readonly name = 'TsqlError';
  readonly number: number;

  constructor(number: number, message: string) {
    super(message);
    this.number = number;
  }
}

/** What a script is run against. */
export interface TsqlServer {
  /** Carries out a statement that is no control of flow; returns the rows it touched. Throws {@link TsqlError}. */
  execute(sql: string, scope: Scope): number;
  /** The value of a query in an expression. */
  scalar(sql: string, scope: Scope): TsqlValue;
  /** Milliseconds. */
  now(): number;
  begin(): void;
  rollback(): void;
}

type Statement = (scope: Scope) => void;

/**
 * Runs statements as T-SQL does, as far as the service writes them: variables, loops, conditions, transactions, errors
 * that are caught. Returns the rows of `select`s over variables. The tables are the server's.
 */
export function runScript(
  sql: string,
  { values, server }: { readonly values: Readonly<Record<string, TsqlValue>>; readonly server: TsqlServer },
): readonly Readonly<Record<string, TsqlValue>>[] {
  const rows: Record<string, TsqlValue>[] = [];
  const variables = new Map(Object.entries(values).map(([name, value]) => [`@${name}`, value]));
  const scope: Scope = { variables, rowCount: 0, transactions: 0, error: null, now: server.now, scalar: server.scalar };
  const parser = createParser(createTokens(sql), { server, rows });
  while (!parser.isAtEnd()) parser.statement()(scope);
  if (scope.transactions !== 0) throw new TsqlError(266, 'A transaction was left open.');
  return rows;
}

interface Output {
  readonly server: TsqlServer;
  readonly rows: Record<string, TsqlValue>[];
}

function createParser(tokens: Tokens, { server, rows }: Output) {
  const block = (...ends: readonly string[]): Statement => {
    const statements: Statement[] = [];
    while (!ends.some((end) => tokens.accepts(...end.split(' ')))) statements.push(statement());
    tokens.accepts(';');
    return (scope) => {
      for (const run of statements) run(scope);
    };
  };

  const attempt = (): Statement => {
    const tried = block('end try');
    tokens.expect('begin', 'catch');
    const caught = block('end catch');
    return (scope) => {
      try {
        tried(scope);
      } catch (error) {
        if (!(error instanceof TsqlError)) throw error;
        scope.error = error;
        caught(scope);
      }
    };
  };

  const assignment = (): Statement => {
    const name = tokens.take();
    const value = tokens.takesUntil('=', ';') ? parseExpression(tokens) : null;
    tokens.expect(';');
    return (scope) => {
      if (value) scope.variables.set(name, value(scope));
    };
  };

  const condition = (): Statement => {
    const isTrue = parseExpression(tokens);
    const then = statement();
    const otherwise = tokens.accepts('else') ? statement() : null;
    return (scope) => (isTrue(scope) === true ? then(scope) : otherwise?.(scope));
  };

  const loop = (): Statement => {
    const isTrue = parseExpression(tokens);
    const body = statement();
    return (scope) => {
      while (isTrue(scope) === true) body(scope);
    };
  };

  const transaction = (step: 'begin' | 'commit' | 'rollback'): Statement => {
    tokens.expect(';');
    return (scope) => {
      scope.transactions = step === 'begin' ? scope.transactions + 1 : 0;
      if (step !== 'commit') server[step]();
    };
  };

  const selection = (): Statement => {
    const columns: (readonly [string, Expression])[] = [];
    do {
      const value = parseExpression(tokens);
      tokens.expect('as');
      columns.push([tokens.take(), value]);
    } while (tokens.accepts(','));
    tokens.expect(';');
    return (scope) => void rows.push(Object.fromEntries(columns.map(([name, value]) => [name, value(scope)])));
  };

  const statement = (): Statement => {
    if (tokens.accepts(';')) return () => undefined;
    if (tokens.accepts('declare') || tokens.accepts('set')) return assignment();
    if (tokens.accepts('if')) return condition();
    if (tokens.accepts('while')) return loop();
    if (tokens.accepts('begin', 'transaction')) return transaction('begin');
    if (tokens.accepts('commit', 'transaction')) return transaction('commit');
    if (tokens.accepts('rollback', 'transaction')) return transaction('rollback');
    if (tokens.accepts('begin', 'try')) return attempt();
    if (tokens.accepts('begin')) return block('end');
    if (tokens.accepts('throw', ';')) {
      return ({ error }) => {
        throw error instanceof TsqlError ? error : new TsqlError(10_704, 'Nothing to throw.');
      };
    }
    if (tokens.accepts('select')) return selection();
    const sql = tokens.takeStatement();
    return (scope) => {
      scope.rowCount = server.execute(sql, scope);
    };
  };

  return { statement, isAtEnd: tokens.isAtEnd };
}
