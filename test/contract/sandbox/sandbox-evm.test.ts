import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startAnvil } from '../../../src/sandbox/evm/anvil.ts'
import { createRpc } from '../../../src/sandbox/evm/rpc.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { childScript, killHard, messageFrom } from '../../support/process/child-script.ts'
import { isRunning, untilGone } from '../../support/process/kill.ts'
import { newTrader, publicClientOf, quoteFor, settled, submit } from '../../support/sandbox.ts'
import { waitFor } from '../../support/wait-for.ts'

const ANVIL = createRequire(import.meta.url).resolve('@foundry-rs/anvil-linux-amd64/bin/anvil')
const quiet = (): void => undefined

describe('the EVM node', () => {
  test('ends when its parent is killed by SIGKILL', async () => {
    const start = await childScript('test/support/process/sandbox-evm-holder.ts')
    const parent = start(ANVIL)
    const pid = Number(await messageFrom(parent))
    expect(isRunning(pid)).toBe(true)
    await killHard(parent)
    await untilGone([pid])
  })

  test('ends when it is stopped once or twice', async () => {
    const anvil = await startAnvil({ chainId: 8453, log: quiet })
    expect(isRunning(anvil.pid)).toBe(true)
    await Promise.all([anvil.stop(), anvil.stop()])
    await anvil.stop()
    expect(isRunning(anvil.pid)).toBe(false)
  })

  test('has a new genesis hash at each start', async () => {
    const hashes = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const anvil = await startAnvil({ chainId: 8453, log: quiet })
        const rpc = createRpc(anvil.rpcUrl)
        const { hash } = await rpc.call<{ hash: string }>('eth_getBlockByNumber', ['0x0', false])
        await rpc.close()
        await anvil.stop()
        return hash
      }),
    )
    expect(new Set(hashes).size).toBe(3)
  })

  test('keeps the state of few blocks, so that its memory does not grow over time', async () => {
    const anvil = await startAnvil({ chainId: 8453, log: quiet })
    onTestFinished(() => anvil.stop())
    const rpc = createRpc(anvil.rpcUrl)
    onTestFinished(() => rpc.close())
    const address = '0x0000000000000000000000000000000000000001'
    await rpc.call('anvil_mine', ['0xa0'])
    // A daemon with a finality of 32 blocks reads deeper while its request is on the way.
    await expect(rpc.call('eth_getBalance', [address, '0x40'])).resolves.toBe('0x0')
    await expect(rpc.call('eth_getBalance', [address, '0x1'])).rejects.toThrow(/OutOfRange/)
  })

  test('names the remedy in the error when its binary is missing', async () => {
    const missing = startAnvil({ chainId: 8453, bin: '/nonexistent/anvil', log: quiet })
    await expect(missing).rejects.toThrow(/install Foundry/)
  })

  test('reports the exit code of a binary that fails to start', async () => {
    const broken = startAnvil({ chainId: 8453, bin: '/bin/false', log: quiet })
    await expect(broken).rejects.toThrow(/ended with code 1 while starting/)
  })
})

describe('chain time', () => {
  test('follows the wall clock while idle', async () => {
    const sandbox = await startSandbox({ market: { feedInterval: 0 } })
    onTestFinished(() => sandbox.stop())
    const head = () => publicClientOf(sandbox).getBlock()
    const [first, startedSeconds] = [await head(), Date.now() / 1_000]
    // A clock that stands still would never reach this time.
    const later = await waitFor('a later block', head, ({ timestamp }) => {
      return Number(timestamp) > startedSeconds + 2
    })
    expect(Number(later.timestamp)).toBeLessThanOrEqual(Date.now() / 1_000)
    expect(later.number).toBeGreaterThan(first.number)
  })

  test('neither leads nor lags the wall clock under a load of orders', async () => {
    const generous = { limit: 1_000_000, windowMs: 10_000 }
    const sandbox = await startSandbox({
      gasless: { rateLimits: { quote: generous, orders: generous, order: generous } },
    })
    onTestFinished(() => sandbox.stop())
    const trader = await newTrader(sandbox, { USDC: '100000000000' })
    const client = publicClientOf(sandbox)
    let lead = Number.NEGATIVE_INFINITY
    let lag = Number.NEGATIVE_INFINITY
    const orderOnce = async (): Promise<string> => {
      const startedSeconds = Math.floor(Date.now() / 1_000)
      const { body } = await submit(sandbox, trader, await quoteFor(sandbox, trader))
      const { status } = await settled(sandbox, body.orderId)
      const { timestamp } = await client.getBlock()
      lead = Math.max(lead, Number(timestamp) - Date.now() / 1000)
      lag = Math.max(lag, startedSeconds - Number(timestamp))
      return status
    }
    const statuses = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const own: string[] = []
        for (let i = 0; i < 25; i += 1) own.push(await orderOnce())
        return own
      }),
    )
    expect(statuses.flat()).toEqual(Array(200).fill('filled'))
    expect(lead).toBeLessThanOrEqual(0)
    // An order settles in no block older than its quote request.
    expect(lag).toBeLessThanOrEqual(0)
  })
})

describe('the sandbox', () => {
  test('leaves no node running when a later part fails to start', async () => {
    const first = await startSandbox({ market: { feedInterval: 0 } })
    onTestFinished(() => first.stop())
    const taken = Number(new URL(first.adminUrl).port)
    const started: number[] = []
    const failing = startSandbox({
      ports: { admin: taken },
      log: (event, fields) => {
        if (event === 'evm.started') started.push(Number(fields?.['pid']))
        if (event === 'evm.exited') started.push(0)
      },
    })
    await expect(failing).rejects.toThrow(/EADDRINUSE/)
    const [pid = 0] = started
    expect(pid).toBeGreaterThan(0)
    expect(isRunning(pid)).toBe(false)
  })

  test('stops both nodes, and a second stop is harmless', async () => {
    const sandbox = await startSandbox({ market: { feedInterval: 10 } })
    await sleep(50)
    await Promise.all([sandbox.stop(), sandbox.stop()])
    expect(isRunning(sandbox.evmPid)).toBe(false)
    expect(isRunning(sandbox.sepolia.evmPid)).toBe(false)
    await expect(fetch(sandbox.aggregatorUrl)).rejects.toThrow()
    await expect(fetch(`${sandbox.gaslessUrl}/api/v1/tokens`)).rejects.toThrow()
  })

  test('refuses unknown faults before it starts a node', async () => {
    const events: string[] = []
    const failing = startSandbox({
      faults: { rules: [{ kind: 'explode' }] },
      log: (event) => {
        events.push(event)
      },
    })
    await expect(failing).rejects.toThrow()
    expect(events).toEqual([])
  })
})
