import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { StateLockedError } from '../../../src/domain/errors.ts'
import type { Address } from '../../../src/domain/money/units.ts'
import { claimWallet } from '../../../src/store/lock/wallet-claim.ts'
import { childScript, killHard, messageFrom } from '../../support/process/child-script.ts'
import { waitFor } from '../../support/wait-for.ts'

const HOLDER = {
  pid: 4711,
  command: 'tranched run',
  startedAtMs: 1_800_000_000_000,
  stateDir: '/b',
}
const FRESH = { overtook: false }

/** A wallet that no other process on this machine uses. */
function aWallet() {
  return { chainId: 8453, wallet: `0x${randomBytes(20).toString('hex')}` as Address }
}

/** Listens under the wallet's name and passes each connection to `greet`. */
async function squatter(
  { chainId, wallet }: ReturnType<typeof aWallet>,
  greet: (socket: Socket) => void,
): Promise<() => Promise<void>> {
  const digest = createHash('sha256').update(`${chainId}:${wallet}`).digest('hex')
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket.on('error', () => undefined))
    greet(socket)
  }).listen(`\0tranched-wallet-${digest.slice(0, 40)}`)
  await once(server, 'listening')
  const close = async (): Promise<void> => {
    for (const socket of open) socket.destroy()
    if (server.listening) await new Promise((resolve) => server.close(resolve))
  }
  onTestFinished(close)
  return close
}

test('a claimed wallet is refused to every other process until its holder ends, even by a kill', async () => {
  const claimed = aWallet()
  const script = await childScript('test/support/process/wallet-claimant.ts')
  const child = script(claimed.wallet, '/a/state')
  expect(await messageFrom(child)).toBe('claimed')
  const refused = claimWallet(claimed, HOLDER, FRESH)
  await expect(refused).rejects.toBeInstanceOf(StateLockedError)
  await expect(refused).rejects.toThrow(
    `wallet ${claimed.wallet} on chain 8453: in use by process ${child.pid} since 2027-01-15T08:00:00.000Z (tranched run), with its state in /a/state.`,
  )
  // The same wallet on another chain has other nonces and other funds.
  const other = await claimWallet({ ...claimed, chainId: 1 }, HOLDER, FRESH)
  await killHard(child)
  const claim = await claimWallet(claimed, HOLDER, FRESH)
  claim.release()
  other.release()
  const again = await claimWallet(claimed, HOLDER, FRESH)
  again.release()
})

test('a process that does not identify itself keeps the wallet, and its text cannot control a terminal', async () => {
  const silent = aWallet()
  await squatter(silent, () => undefined)
  await expect(claimWallet(silent, HOLDER, FRESH)).rejects.toThrow(
    'claimed by a process of this machine that does not say which it is',
  )
  const rude = aWallet()
  const details = { pid: 1, command: '\u001b[2Jgone', startedAtMs: 1e300, stateDir: 'a\r\nb' }
  await squatter(rude, (socket) => void socket.end(JSON.stringify(details)))
  await expect(claimWallet(rude, HOLDER, FRESH)).rejects.toThrow('does not say which it is')
  const odd = aWallet()
  const late = { ...details, startedAtMs: Number.MAX_SAFE_INTEGER }
  await squatter(odd, (socket) => void socket.end(JSON.stringify(late)))
  await expect(claimWallet(odd, HOLDER, FRESH)).rejects.toThrow(
    'since +275760-09-13T00:00:00.000Z ([2Jgone), with its state in a b.',
  )
})

test('an overtaken process gives the wallet up when it ends', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const claimed = aWallet()
  const end = await squatter(claimed, () => undefined)
  const successor = await claimWallet(claimed, HOLDER, { overtook: true })
  onTestFinished(() => successor.release())
  await end()
  await vi.advanceTimersByTimeAsync(5_000)
  const refused = () => claimWallet(claimed, HOLDER, FRESH).catch(String)
  await waitFor('the successor’s claim', refused, expect.stringContaining('in use by process 4711'))
})

test('a process that answers is not mistaken for the stopped one', async () => {
  const claimed = aWallet()
  const claim = await claimWallet(claimed, HOLDER, FRESH)
  await expect(claimWallet(claimed, HOLDER, { overtook: true })).rejects.toThrow('process 4711')
  claim.release()
})
