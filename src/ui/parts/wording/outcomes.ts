export type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'quiet'

/** `price-outside-bounds` as `price outside bounds`. */
export function plain(word: string): string {
  return word.replaceAll('-', ' ')
}

/** `overview` as `Overview`. */
export function capitalised(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

const OUTCOME_TONES: Readonly<Record<string, Tone>> = {
  filled: 'good',
  skipped: 'quiet',
  refused: 'bad',
  failed: 'bad',
  expired: 'warn',
  missed: 'warn',
  open: 'busy',
}

export function outcomeTone(outcome: string): Tone {
  return OUTCOME_TONES[outcome] ?? 'quiet'
}
