import { readFileSync, writeFileSync } from 'node:fs'
import { parseEther, parseGwei, toHex } from 'viem'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { run } from '../support/process/cli.ts'
import { type HidingNode, startHidingNode } from '../support/process/hiding-node.ts'
import { waitFor } from '../support/wait-for.ts'
import { all, audit } from './audit.ts'
import { everySecond, nodeCall, type Rehearsal, startRehearsal } from './rehearsal.ts'

const GAS = {
  maxFeePerGas: '20 gwei',
  maxPriorityFeePerGas: '3 gwei',
  perTransaction: '0.001',
  perDay: '0.005',
} as const
const ABSURD = 1_200_000_000_000_000n

/** Puts both chains behind nodes that may lie, and limits the cost of gas. */
async function behindNodes({ config }: Rehearsal): Promise<readonly HidingNode[]> {
  const settings = parse(readFileSync(config, 'utf8'))
  const nodes: HidingNode[] = []
  for (const name of ['base', 'sepolia']) {
    const node = await startHidingNode(settings.chains[name].rpcUrls[0])
    nodes.push(node)
    Object.assign(settings.chains[name], { rpcUrls: [node.url], gas: GAS })
  }
  writeFileSync(config, stringify(settings))
  return nodes
}

function feesOf(baseFeePerGas: bigint, tip: bigint): HidingNode['overrides'] {
  return {
    eth_feeHistory: {
      oldestBlock: '0x1',
      baseFeePerGas: [toHex(baseFeePerGas), toHex(baseFeePerGas)],
      gasUsedRatio: [0.5],
      reward: [[toHex(tip)]],
    },
    eth_maxPriorityFeePerGas: toHex(tip),
    eth_gasPrice: toHex(baseFeePerGas + tip),
  }
}

test('false fees and gas estimates of a node cost the wallet no more than the limits, and orders fill once it is honest', async () => {
  const rehearsal = await startRehearsal(
    everySecond('from-eth', {
      ...{ sell: 'ETH', amount: '0.01', buy: 'USDC', slippageBps: 100 },
      schedule: { cron: '*/2 * * * * *', missed: 'skip', maxLateness: '2m' },
      limits: { perDay: '10', maxOpenIntents: 1 },
    }),
  )
  const nodes = await behindNodes(rehearsal)
  const lie = (overrides: HidingNode['overrides']): void => {
    for (const node of nodes) node.overrides = overrides
  }
  const { report } = rehearsal
  const sent = (): Promise<string> =>
    nodeCall(report, 'eth_getTransactionCount', [report.trader, 'pending'])
  const before = await sent()
  lie(feesOf(ABSURD, 1n))
  const daemon = rehearsal.daemon()
  await daemon.sees(
    /gas would cost 1200000\.000000001 gwei; chains\.\*\.gas\.maxFeePerGas allows 20 gwei/,
  )
  lie({ eth_estimateGas: '0x0' })
  await daemon.sees(/useless estimate: no block accepts a gas limit of 0/)
  expect(await sent()).toBe(before)
  lie(feesOf(parseGwei('1'), ABSURD))
  const deposit = ['gastank', 'deposit', '0.05', '--yes', '--config', rehearsal.config]
  await waitFor('a transaction', sent, (count) => count !== before)
  lie({})
  await daemon.sees(/filled from-eth/)
  expect((await daemon.stop()).code).toBe(0)
  lie(feesOf(parseGwei('1'), ABSURD))
  expect(await run(deposit)).toMatchObject({ code: 0 })
  const { discrepancies, events } = await audit(rehearsal)
  expect(discrepancies).toEqual([])
  const recorded = all(events, 'transaction-recorded').map(({ transaction }) => transaction)
  expect(new Set(recorded.map(({ purpose }) => purpose))).toEqual(
    new Set(['wrap', 'approve', 'deposit']),
  )
  for (const { gas, maxFeePerGas, maxPriorityFeePerGas } of recorded) {
    expect(gas * maxFeePerGas).toBeLessThanOrEqual(parseEther(GAS.perTransaction))
    expect(maxPriorityFeePerGas).toBeLessThanOrEqual(parseGwei('3'))
  }
})
