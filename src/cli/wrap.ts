/** Lines fit this many columns of a terminal, and a narrower one as if it had as many. */
export const WIDTH_MIN = 60
/** Of what goes on in a line below. */
const INDENT = '  '

/**
 * Words in lines that fit beside a heading, those below the first as far in as it. A command in backquotes stays whole; what is
 * longer than a line stands on one of its own, so that it can be copied. `width`: of the terminal, heading and all.
 */
export function beside(head: string, text: string, width: number): readonly string[] {
  return filled(head, ' '.repeat(head.length), { text, width })
}

/** Lines as they fit a terminal: what is too long goes on below, indented, between words. */
export function wrapped(lines: readonly string[], width: number): readonly string[] {
  return lines.flatMap((line) => {
    if (line.length <= Math.max(width, WIDTH_MIN)) return [line]
    const text = line.trimStart()
    const own = line.slice(0, line.length - text.length)
    return filled(own, own === '' ? INDENT : own, { text, width })
  })
}

function filled(
  head: string,
  below: string,
  { text, width }: { readonly text: string; readonly width: number },
): readonly string[] {
  const room = Math.max(width, WIDTH_MIN)
  const lines: string[] = []
  let line = head
  let isEmpty = true
  for (const word of text.match(/(?:`[^`]*`|[^\s`]|`)+/g) ?? []) {
    if (!isEmpty && line.length + 1 + word.length > room) {
      lines.push(line)
      line = below
      isEmpty = true
    }
    line += isEmpty ? word : ` ${word}`
    isEmpty = false
  }
  return [...lines, line.trimEnd()]
}
