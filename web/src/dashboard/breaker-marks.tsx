import type { BreakerOpening } from 'posthorn-client';
import type { TimeMark, TimeMarks } from '../parts/delivery-chart.tsx';
import { Link } from '../ui/text/link.tsx';
import { Time } from '../ui/text/time.tsx';
import { CustomerLink } from './customer-link.tsx';

const NAME = 'Circuit breakers';

/** Where breakers of a project opened, each with its endpoint. */
export function projectMarks(
  openings: readonly BreakerOpening[],
  hrefOf: (endpoint: string) => string,
): TimeMarks {
  const marks = openings.map((opening): TimeMark => {
    const { endpoint_id, endpoint_name: name, owner_id: owner, opened_at: at, closed_at: closed } = opening;
    const text = (
      <>
        <Link className="link" href={hrefOf(endpoint_id)}>
          {name}
        </Link>
        {owner !== '' && (
          <>
            {' · '}
            <CustomerLink owner={owner} />
          </>
        )}
        {' · circuit breaker opened '}
        <Time at={at} />
        {closed === null ? (
          ', still open'
        ) : (
          <>
            , closed <Time at={closed} />
          </>
        )}
      </>
    );
    return { at, title: `${name}: circuit breaker opened`, text };
  });
  return [NAME, marks];
}

/** Where the breaker of one endpoint opened and closed. */
export function endpointMarks(openings: readonly BreakerOpening[]): TimeMarks {
  const mark = (at: string, isGood: boolean): TimeMark => {
    const title = `Circuit breaker ${isGood ? 'closed' : 'opened'}`;
    const text = (
      <>
        {title} <Time at={at} />
      </>
    );
    return { at, isGood, title, text };
  };
  const marks = openings.flatMap(({ opened_at: opened, closed_at: closed }) => [
    mark(opened, false),
    ...(closed === null ? [] : [mark(closed, true)]),
  ]);
  return [NAME, marks];
}
