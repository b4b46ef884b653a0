import { useProject } from '../../data/project.ts';
import { sendCommand } from '../../parts/commands.ts';
import { Button } from '../../ui/controls/button.tsx';
import { EmptyState } from '../../ui/page/states.tsx';

export function NoEvents({ isFiltered, onClear }: { isFiltered: boolean; onClear(): void }) {
  const { id } = useProject();
  if (isFiltered)
    return (
      <EmptyState
        title="No event matches these filters"
        text="Look further back in time, or take a filter away."
      >
        <Button onClick={onClear}>Clear filters</Button>
      </EmptyState>
    );
  return (
    <EmptyState
      title="No events yet"
      text="Events appear here as they are accepted. Run this in the folder where Posthorn was started:"
      command={sendCommand(id)}
    />
  );
}
