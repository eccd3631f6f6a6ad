/**
 * A statement sees what was committed before it began. One that waits for a row sees that row as it is after the wait, and all
 * others as they were before: so it must not decide by them. First a statement locks, then the next one reads.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

/**
 * Statements that may wait for a row and mention another one, each with the reason why it decides by nothing that may have
 * changed meanwhile.
 */
const reviewed: ReadonlyMap<string, string> = new Map([
  ['connections/connections.lockedConnectionOfSchedule', 'a schedule never gets another connection'],
  ['connections/retests.takeDueRetests', 'others only say which begins first; a row is looked at again after the wait'],
  [
    'connections/tokens.takeUnusedTokens',
    'others only say which begins first; a row is looked at again after the wait',
  ],
  ['hooks/hook-requests.joinRun', 'the caller has locked the connection, whose requests nobody else gives a run'],
  ['hooks/hook-requests.dropTriggers', 'the caller has locked the connection, whose requests nobody else gives a run'],
  [
    'connections/pending-grants.putPendingGrant',
    'a session keeps its connection; the grant of a slot is replaced whole',
  ],
  ['connections/pending-grants.dropGrantsOfSession', 'grants of a session are deleted whatever the others are'],
  ['runs/records/requeue.closeAll', 'only the lane that the attempt holds is read beside the rows'],
  ['runs/run-dimensions.closePartitions', 'the run has ended in this transaction, which has locked it and its lane'],
  ['webhooks/deliveries.lockDeliveryTarget', 'a delivery never gets another event or endpoint'],
  [
    'webhooks/events.insertEventAndMessages',
    'endpoints are as they are locked; an event recorded meanwhile has the same primary key',
  ],
  ['webhooks/recoveries.repeatMessages', 'events never change, and the caller has locked the endpoint'],
  [
    'webhooks/recoveries.addMessages',
    'the caller has locked the endpoint, and nobody else makes messages of old events',
  ],
  ['runs/batches/batch-coverage.putCoverage', 'the lane is locked before, and whoever writes its records locks it'],
  ['runs/batches/batch-coverage.putLeft', 'the lane is locked before, and whoever writes its records locks it'],
  ['runs/batches/batch-coverage.leavePartitions', 'the lane is locked before, and whoever writes its records locks it'],
  ['runs/batches/batch-coverage.endPartitions', 'the lane is locked before, and whoever writes its records locks it'],
  ['runs/records/listed-deletions.endListed', 'the lane is locked before, and whoever writes its records locks it'],
  [
    'runs/batches/batch-rest.openAgain',
    'rows of the lane are opened under its lock, and closed ones are not opened by others',
  ],
  [
    'runs/batches/batch-statement.recordSql',
    'the fence is that of the locked row, and else the run decides by its own columns',
  ],
  [
    'runs/lanes/begin-run.lockToBegin',
    'what is not locked only says whether to try at once, or again; the next statement decides',
  ],
  [
    'runs/lanes/begin-run.beginInTurn',
    'org and connection are locked before: what others do meanwhile only makes room',
  ],
  ['runs/lanes/end-run.lockConnectionOf', 'a run never gets another connection'],
  ['runs/lanes/end-run.writeEnd', 'the fence is that of the locked row, and else the run decides by its own columns'],
  ['runs/lanes/forget-lane.noteCleared', 'the place of a run never changes'],
  ['runs/lanes/forget-records.forget', 'the lane is locked before, and whoever writes its records locks it'],
  ['runs/lanes/rewind.rewindLane', 'a run never gets another lane'],
  [
    'runs/lanes/turns.noteReady',
    'only wakes runs: whose turn it is, the begin of a run decides, which is tried every 30 s',
  ],
  [
    'runs/lanes/turns.nextRuns',
    'only wakes runs: whose turn it is, the begin of a run decides, which is tried every 30 s',
  ],
  [
    'take_lane',
    'its first statement locks; the status of the run, by which it finds the lane, is asked again behind it',
  ],
]);

const here = import.meta.dirname;
const filesIn = (folder: string, ending: string) =>
  readdirSync(join(here, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith(ending) && !file.endsWith('.test.ts'))
    .map((file) => ({ file, text: readFileSync(join(here, folder, file), 'utf8') }));

const tables: ReadonlySet<string> = new Set(
  filesIn('migrations', '.sql').flatMap(({ text }) =>
    [...text.matchAll(/^create table (\w+)/gm)].map(([, name = '']) => name),
  ),
);

/** A declaration at the top of a file of queries, or a function of the database. */
interface Declaration {
  readonly name: string;
  readonly text: string;
}

const top = /^(?:export )?(?:async )?(?:function\*?|const) (?<name>\w+)/gm;

/** The declarations of a formatted file: each goes on until the next line that is not indented and begins one. */
function declarationsOf(file: string, text: string): readonly Declaration[] {
  const starts = [...text.matchAll(top)];
  return starts.map((match, index) => ({
    name: `${file.replace(/\.ts$/, '')}.${match.groups?.['name'] ?? ''}`,
    text: text.slice(match.index, starts[index + 1]?.index),
  }));
}

function functionsOf(text: string): readonly Declaration[] {
  const bodies = text.matchAll(/^create (?:or replace )?function (?<name>\w+)[\s\S]*?\$\$(?<body>[\s\S]*?)\$\$/gm);
  return [...bodies].map(({ groups }) => ({ name: groups?.['name'] ?? '', text: groups?.['body'] ?? '' }));
}

/** The statements of a declaration, each with the parts that are made for it: no text of SQL has a semicolon within. */
function statementsOf({ text }: Declaration): readonly string[] {
  const parts = text.replace(/\/\*[\s\S]*?\*\/|^\s*(?:\/\/|--).*$/gm, '').split(';');
  const statements = [''];
  for (const part of parts) {
    statements[statements.length - 1] += part;
    if (!/(?:^|\n)\s*const \w+ = (?![\s\S]*\b(?:await|return)\b)/.test(part)) statements.push('');
  }
  return statements;
}

const waiting =
  /\bfor (?:no key )?(?:update|share)\b|\bfor key share\b|\.for(?:NoKey|Key)?(?:Update|Share)\(|\bupdate \S+(?: \w+)?\s+set\b|\.updateTable\(|\bupdateExisting|\bdelete from\b|\.deleteFrom\(|\bdo update\b|\bdoUpdateSet\(/;
const skipping = /\bskip locked\b|\bnowait\b|\.skipLocked\(/;
const mention =
  /\b(?:from|join|into|update) (?<raw>[a-z_]+)\b|\.(?:selectFrom|innerJoin|leftJoin|updateTable|insertInto|deleteFrom|from|using)\(\s*'(?<built>\w+)/g;

/** The tables that a statement mentions, each as often as it does. */
const tablesIn = (statement: string): readonly string[] =>
  [...statement.matchAll(mention)]
    .map(({ groups }) =>
      (groups?.['raw'] ?? groups?.['built'] ?? '').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    )
    .filter((name) => tables.has(name));

/** Whether a statement waits for rows of one table and looks at others, or at others of the same. */
function decidesByOthers(statement: string): boolean {
  return waiting.test(statement) && !skipping.test(statement) && tablesIn(statement).length > 1;
}

const declarations = [
  ...filesIn('queries', '.ts').flatMap(({ file, text }) => declarationsOf(file, text)),
  ...filesIn('migrations', '.sql').flatMap(({ text }) => functionsOf(text)),
];

describe('a statement that may wait for a row', () => {
  it('is found with its tables, however it is written', () => {
    const decides = (text: string) => statementsOf({ name: '', text }).some(decidesByOthers);
    expect(decides('sql`select lanes.id from lanes join runs on true for no key update of lanes`')).toBe(true);
    expect(decides('sql`update lanes set fence = 1 where exists (select from runs)`')).toBe(true);
    expect(
      decides("const a = sql`(select 1 from lanes for share)`;\nawait tx.updateTable('runs').where(a).execute();"),
    ).toBe(true);
    expect(decides("await tx.selectFrom('lanes').forUpdate().execute();\nawait tx.selectFrom('runs').execute();")).toBe(
      false,
    );
    expect(decides('sql`select id from runs where lane_id in (select id from lanes)`')).toBe(false);
    expect(decides('sql`delete from runs where id in (select id from runs for update skip locked)`')).toBe(false);
  });

  it('decides by no other one, unless it was reviewed', () => {
    const found = declarations.filter((one) => statementsOf(one).some(decidesByOthers)).map(({ name }) => name);
    expect(found.filter((name) => !reviewed.has(name))).toEqual([]);
    expect([...reviewed.keys()].filter((name) => !found.includes(name))).toEqual([]);
  });
});
