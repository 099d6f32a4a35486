import * as z from 'zod'
import { type Address, type Hex, parseAddress } from '../../domain/money/units.ts'

/** Value encodings of Ethereum JSON-RPC (EIP-1474). viem would accept '' as zero and '-0x1' as a block. */
const QUANTITY = /^0x[0-9a-f]{1,64}$/i
const quantity = z.string().regex(QUANTITY) as z.ZodType<Hex>
/** A quantity that fits a safe integer; larger block numbers make nodes return an error. */
const count = quantity.refine((text) => Number.isSafeInteger(Number(text)))
const bytes = lowerCase(/^0x(?:[0-9a-f]{2})*$/i)
const hash = lowerCase(/^0x[0-9a-f]{64}$/i)
const address = z.string().transform((text, context): Address => {
  const parsed = parseAddress(text)
  if (parsed === undefined) context.addIssue('no address')
  return parsed ?? z.NEVER
})

const log = z.looseObject({ address, topics: z.array(hash), data: bytes, logIndex: count })

/** Schema per method, limited to the fields that are read. Hex is returned in lower case. */
const ANSWERS = {
  eth_blockNumber: quantity,
  eth_call: bytes,
  eth_chainId: quantity,
  eth_estimateGas: quantity,
  eth_feeHistory: z.looseObject({
    /** Per block, oldest first, plus the next block. */
    baseFeePerGas: z.array(quantity).min(1),
    /** Tips per block, at the requested percentiles. */
    reward: z.array(z.array(quantity)).nullish(),
  }),
  eth_getBalance: quantity,
  eth_getBlockByNumber: z
    .looseObject({
      hash: hash.nullish(),
      number: count.nullish(),
      timestamp: count,
      baseFeePerGas: quantity.nullish(),
    })
    .nullable(),
  eth_getCode: bytes,
  eth_getLogs: z.array(
    z.looseObject({
      address,
      topics: z.array(hash),
      data: bytes,
      transactionHash: hash,
      blockNumber: count,
      blockHash: hash.nullish(),
      logIndex: count,
    }),
  ),
  /** Some nodes omit leading zeros. */
  eth_getStorageAt: quantity,
  eth_getTransactionByHash: z
    .looseObject({ hash, from: address, to: address.nullish(), input: bytes })
    .nullable(),
  eth_getTransactionCount: quantity,
  eth_getTransactionReceipt: z
    .looseObject({
      transactionHash: hash,
      /** Absent while the transaction is pending. */
      blockNumber: count.nullish(),
      blockHash: hash.nullish(),
      status: quantity.nullish(),
      gasUsed: quantity.nullish(),
      effectiveGasPrice: quantity.nullish(),
      /** OP stack chains: the L1 data fee. */
      l1Fee: quantity.nullish(),
      blobGasUsed: quantity.nullish(),
      blobGasPrice: quantity.nullish(),
      logs: z.array(log).nullish(),
    })
    .nullable(),
  eth_maxPriorityFeePerGas: quantity,
  eth_sendRawTransaction: hash,
}

const sentInBlock = z.looseObject({ hash, input: bytes })

/** Full transactions of a block; undefined if the answer has only hashes. */
export function sentIn(block: {
  readonly [field: string]: unknown
}): readonly z.infer<typeof sentInBlock>[] | undefined {
  return z.array(sentInBlock).safeParse(block['transactions']).data
}

/** Transaction hashes of a block; undefined if the answer has full transactions. */
export function hashesIn(block: { readonly [field: string]: unknown }): readonly Hex[] | undefined {
  return z.array(hash).safeParse(block['transactions']).data
}

export type Method = keyof typeof ANSWERS
export type Answer<Of extends Method> = z.infer<(typeof ANSWERS)[Of]>

/** Runs for every batch, so it bypasses the schema. */
export function isQuantity(answer: unknown): answer is Hex {
  return typeof answer === 'string' && QUANTITY.test(answer)
}

/** The parsed answer; undefined if it does not match the schema. */
export function answerTo<Of extends Method>(method: Of, answer: unknown): Answer<Of> | undefined {
  return ANSWERS[method].safeParse(answer).data as Answer<Of> | undefined
}

function lowerCase(shape: RegExp): z.ZodType<Hex> {
  return z
    .string()
    .regex(shape)
    .transform((text) => text.toLowerCase() as Hex)
}
