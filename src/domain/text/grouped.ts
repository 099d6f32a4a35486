/** A whole number's digits in groups of three, for people: `12,345`. */
export function grouped(whole: string): string {
  return whole.replace(/\B(?=(\d{3})+$)/g, ',')
}
