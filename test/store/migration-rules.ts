/**
 * The statements that a migration must not have, since nodes of the version before it are at work while it runs and afterwards
 * (migrations/README.md). Read from its text: each statement is looked at by itself.
 */
interface Rule {
  /** Why not, as migrations/README.md has it. */
  name: string;
  /** Allowed in a migration that says which nodes it needs. */
  isContracting?: true;
  /** Allowed in one that needs nodes that know itself: none can be at work while it runs. */
  isForAlone?: true;
  forbids(statement: string, made: Set<string>): boolean;
}

/** Tables that grow with traffic: nothing may read or rewrite all of one, or hold up its writers. */
const BIG = [
  'events',
  'event_deliveries',
  'delivery_attempts',
  'meta_events',
  'delivery_queue',
  'event_keys',
];

const isBig = (table: string | undefined, made: Set<string>): boolean =>
  table !== undefined && BIG.includes(table) && !made.has(table);

const alters = /^alter table (?:if exists )?(?:only )?(\w+)/;

const RULES: Rule[] = [
  {
    name: 'takes away or renames what older nodes use',
    isContracting: true,
    forbids: (statement) =>
      /^drop (table|view|type|function|schema|index)\b/.test(statement) ||
      /^alter (table|index)\b.*(\bdrop (column|constraint|default|expression)\b|\brename\b|\bset schema\b)/.test(
        statement,
      ),
  },
  {
    name: 'refuses what older nodes write',
    isContracting: true,
    forbids: (statement, made) => {
      const table = alters.exec(statement)?.[1];
      if (table === undefined || made.has(table)) return false;
      const addsRequired = statement
        .split(/,(?![^(]*\))/)
        .some(
          (part) => /\badd column\b/.test(part) && /\bnot null\b/.test(part) && !/\bdefault\b/.test(part),
        );
      return (
        addsRequired ||
        /\bset not null\b|\badd (constraint\b|check\b|unique\b|foreign key\b|primary key\b)/.test(statement)
      );
    },
  },
  {
    name: 'rewrites a table',
    forbids: (statement, made) => {
      const table = alters.exec(statement)?.[1];
      if (table === undefined || made.has(table)) return false;
      return (
        /\balter column \w+ (set data )?type\b|\bset (un)?logged\b|\bset access method\b/.test(statement) ||
        /\badd column\b.*\b(default \w*\.?\w+\(|generated\b|\w*serial\b)/.test(statement)
      );
    },
  },
  {
    name: 'builds an index on a table that is written to',
    isForAlone: true,
    forbids: (statement, made) => {
      if (/\badd (constraint \w+ )?(primary key|unique) ?\(/.test(statement))
        return isBig(alters.exec(statement)?.[1], made);
      const [, only, table] = /^create (?:unique )?index .*?\bon (only )?(\w+)/.exec(statement) ?? [];
      return only === undefined && isBig(table, made);
    },
  },
  {
    name: 'changes the rows of a table that is written to',
    forbids: (statement, made) =>
      isBig(
        /^(?:with .*?)?\b(?:update|delete from|insert into|truncate(?: table)?|copy) (?:only )?(\w+)/.exec(
          statement,
        )?.[1],
        made,
      ),
  },
  { name: 'locks by itself', forbids: (statement) => /^(lock|vacuum|cluster|reindex)\b/.test(statement) },
  {
    name: 'makes a sequence, which a backup does not carry',
    forbids: (statement) => /\b(big|small)?serial\b|\bas identity\b|^create sequence\b/.test(statement),
  },
];

const NEEDS = /^-- needs: (\d{4})$/m;

/** Each broken rule with its statement. `name`: of the file. */
export function brokenRules(sql: string, name = ''): string[] {
  const needs = NEEDS.exec(sql)?.[1];
  const isAlone = needs !== undefined && name.startsWith(needs);
  const made = new Set<string>();
  const broken: string[] = [];
  for (const statement of statementsOf(sql)) {
    const table = /^create (?:unlogged )?table (?:if not exists )?(\w+)/.exec(statement)?.[1];
    if (table !== undefined) made.add(table);
    for (const rule of RULES) {
      if ((rule.isContracting === true && needs !== undefined) || (rule.isForAlone === true && isAlone))
        continue;
      if (rule.forbids(statement, made)) broken.push(`${rule.name}: ${statement.slice(0, 70)}`);
    }
  }
  return broken;
}

/**
 * In lower case, without comments and with single spaces. No migration has a quoted semicolon; what a DO block puts
 * together and runs is not looked at.
 */
function statementsOf(sql: string): string[] {
  const text = sql.replaceAll(/--.*$/gm, '').toLowerCase();
  return text
    .split(';')
    .map((statement) => statement.replaceAll(/\s+/g, ' ').trim())
    .filter((statement) => statement !== '');
}
