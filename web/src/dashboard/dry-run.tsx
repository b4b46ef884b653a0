import type { Job } from 'posthorn-client';
import { count } from '../ui/text/numbers.ts';

type DryRun = NonNullable<Job['dry_run']>;
const MAX_LINES = 5;

/** The counts of a dry run: by endpoint, by state and by cause. */
export function DryRunView({ dryRun }: { dryRun: DryRun }) {
  if (dryRun.total === 0) return null;
  const groups: [string, [string, number][]][] = [
    [
      'Endpoint',
      dryRun.by_endpoint.map(({ name, endpoint_id, count: total }) => [name || endpoint_id, total]),
    ],
    ['State', dryRun.by_status.map(({ status, count: total }) => [status, total])],
    [
      'Cause',
      dryRun.by_outcome.map(({ outcome, count: total }) => [
        outcome.replaceAll('_', ' ') || 'not sent',
        total,
      ]),
    ],
  ];
  return (
    <div className="grid gap-3 sm:grid-cols-3">
      {groups.map(([title, lines]) => (
        <div key={title} className="min-w-0">
          <h3 className="text-xs text-muted">{title}</h3>
          <ul>
            {lines.slice(0, MAX_LINES).map(([name, total]) => (
              <li key={name} className="flex justify-between gap-2 border-b border-line py-0.5">
                <span className="truncate">{name}</span>
                <span>{count(total)}</span>
              </li>
            ))}
            {lines.length > MAX_LINES && <li className="text-muted">and {lines.length - MAX_LINES} more</li>}
          </ul>
        </div>
      ))}
    </div>
  );
}
