import type { Message } from './message.ts'
import { testText } from './texts/daemon.ts'
import { localTimeInZone } from './texts/time.ts'

/** A message that says that nothing has happened. Its word is none that a receiver can ask for. */
export function testMessage(
  receiver: string,
  { atMs, timezone }: { readonly atMs: number; readonly timezone: string },
): Message {
  const { subject, lines } = testText(receiver)
  return {
    id: `${atMs}-test`,
    event: 'test',
    severity: 'warning',
    atMs,
    when: localTimeInZone(atMs, timezone),
    subject,
    lines,
    text: [subject, ...lines].join('\n'),
    details: {},
  }
}
