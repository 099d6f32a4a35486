import { describe, expect, test } from 'vitest'
import { parseBatch, type RpcRefusal, type UnusableAnswer } from '../../../src/chain/node/batch.ts'
import { hintedBlocks } from '../../../src/chain/node/refusals.ts'
import { openEndpoint } from '../../../src/system/endpoint.ts'
import { WORDINGS, type Wording } from '../../support/chain/node-refusals.ts'

const { scrub } = openEndpoint({ url: 'http://127.0.0.1:1', label: 'a node' })
const requests = [{ method: 'eth_getLogs', params: [] }]

/** Parses the wording as the reply to one eth_getLogs request. */
function read({ code, message, data, status = 200 }: Wording): RpcRefusal | UnusableAnswer {
  const text = JSON.stringify({ jsonrpc: '2.0', id: 7, error: { code, message, data } })
  try {
    return parseBatch(
      { statusCode: status, text },
      { firstId: 7, requests },
      scrub,
    )[0] as RpcRefusal
  } catch (error) {
    return error as UnusableAnswer
  }
}

describe('the refusal of a node', () => {
  test.each(WORDINGS.map((each) => [each.provider, each.kind, each.message, each] as const))(
    '%s: %s, "%s"',
    (_, kind, message, wording) => {
      const refusal = read(wording)
      expect(refusal.kind).toBe(kind)
      expect(refusal.message).toContain(message.slice(0, 60).replace(/https.*/, ''))
      expect(hintedBlocks(kind, refusal.message)).toBe(wording.blocks)
    },
  )

  test('is covered for every kind', () => {
    const kinds = new Set(WORDINGS.map(({ kind }) => kind))
    expect([...kinds].sort()).toEqual(
      ['batch', 'limit', 'missing', 'other', 'pace', 'range', 'results'].sort(),
    )
  })
})
