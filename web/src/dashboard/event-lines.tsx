import type { Event } from 'posthorn-client';
import { useProject } from '../data/project.ts';
import { Link } from '../ui/text/link.tsx';
import { Time } from '../ui/text/time.tsx';

/** Events, one per line, with the reason of those that went nowhere. */
export function EventLines({ events, none }: { events: readonly Event[]; none: string }) {
  const { at } = useProject();
  if (events.length === 0) return <p className="text-muted">{none}</p>;
  return (
    <ul className="border-t border-line">
      {events.map((event) => (
        <li
          key={event.uid}
          className="relative flex min-h-8 items-center gap-3 border-b border-line hover:bg-hover"
        >
          <Link className="link truncate after:absolute after:inset-0" href={at(`events/${event.uid}`)}>
            {event.event_type}
          </Link>
          <span className="min-w-0 grow truncate text-muted">{event.failure_reason}</span>
          <span className="text-xs text-muted">
            <Time at={event.created_at} />
          </span>
        </li>
      ))}
    </ul>
  );
}
