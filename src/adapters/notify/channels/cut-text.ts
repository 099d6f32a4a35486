/** Text of at most so many UTF-16 units. Half of a pair of units is no character, and an escape without its end no text. */
export function cutText(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text
  return `${text.slice(0, lengthMax - 3).replace(/[\ud800-\udbff\\]$|&[a-z]{0,4}$/, '')}...`
}
