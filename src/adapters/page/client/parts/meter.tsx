import type { Tone } from '../../../page-parts/words/outcomes.ts'

/** How full something is. `share` goes from 0 on; what is above 1 fills the bar. */
export function Meter({ share, tone, label }: { share: number; tone: Tone; label: string }) {
  const filled = Math.max(0, Math.min(1, share))
  return (
    // biome-ignore lint/a11y/useSemanticElements: a <meter> looks otherwise in each browser.
    <span
      class={`meter ${tone}`}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(filled * 100)}
    >
      <span class="filled" style={{ transform: `scaleX(${filled})` }} />
    </span>
  )
}
