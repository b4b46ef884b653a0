import { CodeBlock } from '../ui/code/code-block.tsx';
import { Dialog } from '../ui/controls/dialog.tsx';

/** The only time that a key is shown. */
export function KeyMade({ title, apiKey, onClose }: { title: string; apiKey: string; onClose(): void }) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="grid gap-3">
        <p>Copy it now. It is not shown again.</p>
        <CodeBlock label="Key" text={apiKey} />
      </div>
    </Dialog>
  );
}
