import type { Message } from '../../../src/observe/notify/message.ts'
import { AT_MS, HASH } from './observations.ts'

/** A fill as it waits in the outbox. */
export const MESSAGE: Message = {
  id: `${AT_MS}-7`,
  event: 'filled',
  severity: 'info',
  atMs: AT_MS,
  when: 'Mon 5 Jan, 08:00 (UTC)',
  strategy: 'weekly-eth',
  intentId: 'weekly-eth:1767600000:0',
  subject: 'weekly-eth traded 25 USDC for 0.00998 WETH',
  lines: ['2504.97 USDC per WETH.', 'The full timeline: `tranched why weekly-eth:1767600000`'],
  link: `https://basescan.org/tx/${HASH}`,
  text: 'filled weekly-eth: 25 USDC -> 0.00998 WETH in 1.4 s',
  details: { paid: '25', received: '0.00998' },
}

/** Markup that a hostile service could inject into a chat. */
export const HOSTILE: Message = {
  ...MESSAGE,
  event: 'failed',
  severity: 'alarm',
  subject: 'x <b>bold</b> & "q" *star* @everyone <!channel> [link](https://evil.example)',
  lines: ['<script>a</script> <@123> `code` _it_ ~s~ &amp;', '<https://evil.example|tap here>'],
  link: undefined,
}
