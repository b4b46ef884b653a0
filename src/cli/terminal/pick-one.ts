import { nearestName } from '../../platform/nearest-name.ts';
import { StartupError } from '../../platform/startup-error.ts';

export interface Candidate {
  uid: string;
  name: string;
  owner_id?: string;
}

const SHOWN = 10;

/** The only one with this id or name. Else an error with those that may be meant. */
export function pickOne<One extends Candidate>(
  { kind, text, advice }: { kind: string; text: string; advice: string },
  among: readonly One[],
): One {
  const found = among.filter(({ uid, name }) => uid === text || name === text);
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  if (only !== undefined)
    throw new StartupError(
      `there are ${found.length} ${kind}s named "${text}": ${listed(found)}; give the id`,
    );
  const near = nearestName(
    text,
    among.map(({ name }) => name),
  );
  throw new StartupError(
    `there is no ${kind} "${text}"; ${near === null ? advice : `did you mean "${near}"?`}`,
  );
}

export function namedProject<One extends Candidate>(text: string, projects: readonly One[]): One {
  const advice = `the key opens: ${projects.map(({ name, uid }) => `${name} (${uid})`).join(', ')}`;
  return pickOne({ kind: 'project', text, advice }, projects);
}

function listed(found: readonly Candidate[]): string {
  const shown = found.slice(0, SHOWN).map(({ uid, owner_id: owner = '' }) => {
    const of = owner === '' ? '' : ` (${owner})`;
    return `${uid}${of}`;
  });
  return [...shown, ...(found.length > SHOWN ? [`${found.length - SHOWN} more`] : [])].join(', ');
}
