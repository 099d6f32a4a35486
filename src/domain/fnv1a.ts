const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193

/** 32 bits that depend on the whole text (FNV-1a over its UTF-16 units), as a number from 0. No cryptography. */
export function fnv1a(text: string, start: number = FNV_OFFSET): number {
  let hash = start
  for (let at = 0; at < text.length; at += 1)
    hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME)
  return hash >>> 0
}
