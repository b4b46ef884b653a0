import { qrCode } from './qr-code.ts';

/** Modules of light around the code, as readers need it. */
const QUIET = 4;

/** A QR code, dark on light in both themes. Nothing where the text is too long for one. */
export function QrView({ text, label }: { text: string; label: string }) {
  const rows = qrCode(text);
  if (rows === null) return null;
  const size = rows.length + 2 * QUIET;
  const dark = rows.flatMap((row, y) =>
    row.flatMap((isDark, x) => (isDark ? [`M${x + QUIET} ${y + QUIET}h1v1h-1z`] : [])),
  );
  return (
    <svg viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label} className="size-44">
      <rect width={size} height={size} fill="white" />
      <path d={dark.join('')} fill="black" shapeRendering="crispEdges" />
    </svg>
  );
}
