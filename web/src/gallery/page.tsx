import { Button } from '../ui/controls/button.tsx';
import { PageHead, Section } from '../ui/page/section.tsx';
import { EmptyState, ErrorPanel, Skeleton } from '../ui/page/states.tsx';
import { StateBadge } from '../ui/text/state-badge.tsx';
import { LONG, Specimen } from './specimen.tsx';

export function PageParts() {
  return (
    <>
      <Specimen name="Page head and section">
        {() => (
          <>
            <PageHead
              title={LONG}
              beside={<StateBadge look={{ tone: 'ok', shape: 'check', word: 'Active' }} />}
            >
              <Button>Pause</Button>
              <Button look="danger">Delete…</Button>
            </PageHead>
            <Section title="Last deliveries" aside={<Button look="quiet">All</Button>}>
              <p className="text-muted">None yet.</p>
            </Section>
          </>
        )}
      </Specimen>
      <Specimen name="Loading">{() => <Skeleton label="Loading deliveries" />}</Specimen>
      <Specimen name="Empty">
        {() => (
          <EmptyState
            title="No endpoints yet"
            text="An endpoint is an address that receives events. Add one here, or with the API:"
            command="curl -s http://127.0.0.1:5005/api/v1/projects"
          >
            <Button look="main" icon="plus">
              Add endpoint
            </Button>
          </EmptyState>
        )}
      </Specimen>
      <Specimen name="Error">
        {() => (
          <>
            <ErrorPanel
              title="That did not work"
              text={LONG}
              requestId="01K9ZQ5T3E8W4V7X2Y6B0C1D2F"
              onRetry={() => undefined}
            />
            <ErrorPanel title="You may not see this" text="Ask an administrator for a role that may." />
          </>
        )}
      </Specimen>
    </>
  );
}
