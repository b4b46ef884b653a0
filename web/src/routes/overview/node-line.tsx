import { useQuery } from '@tanstack/react-query';
import { NodeBadge, nodesQuery } from '../../dashboard/node-state.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { Section } from '../../ui/page/section.tsx';
import { Id } from '../../ui/text/id.tsx';
import { Link } from '../../ui/text/link.tsx';
import { Time } from '../../ui/text/time.tsx';

/** The nodes of the instance, for its administrators. */
export function NodeLine() {
  const nodes = useQuery(nodesQuery);
  return (
    <Section
      title="Nodes"
      aside={
        <Link className="link" href="/instance/nodes">
          All
        </Link>
      }
    >
      <QueryView query={nodes} label="Loading nodes" rows={1}>
        {(all) => (
          <ul aria-label="Nodes" className="flex flex-wrap gap-x-6 border-t border-line">
            {all.map((node) => (
              <li key={node.uid} className="flex min-h-8 items-center gap-2">
                <NodeBadge node={node} />
                <Id value={node.uid} copy={false} />
                <span className="text-xs text-muted">
                  last seen <Time at={node.last_seen_at} />
                </span>
              </li>
            ))}
          </ul>
        )}
      </QueryView>
    </Section>
  );
}
