/* One stream: a request whose answer does not end, read piece by piece, with nothing of it kept but where it stands. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "base.h"

enum {
    MARK_NUMBER_DIGITS = 12,
    MARK_BYTES = 16, /* "mark" and the number */
};

static const char MARK[] = "mark";
static const char HEARTBEAT[] = "event: heartbeat";
_Static_assert(sizeof HEARTBEAT - 1 == MARK_BYTES, "what is looked for across two pieces has one length");

enum phase {
    UNASKED,
    CONNECTING,
    ASKED,
    OPEN,    /* the head of the answer was there, and said 200 */
    ENDED,   /* the answer ended as it should */
    REFUSED, /* another status */
    LOST,    /* the connection failed, or what came was no answer in chunks */
};

enum place {
    IN_HEAD,
    IN_SIZE,
    BEHIND_SIZE,
    IN_CHUNK,
    BEHIND_CHUNK,
    BEHIND_LAST,
};

struct stream {
    int socket;
    enum phase phase;
    enum place place;
    uint64_t began;
    uint64_t at;   /* how many bytes of the head, or of a line end, have come */
    uint64_t left; /* of the chunk */
    int status;
    int head_end; /* how many bytes of the empty line */
    bool is_last_chunk;

    bool is_stalled;
    bool is_apart;        /* was stalled once; what it gets is late for its own reasons */
    uint64_t resumed_for; /* bytes since it is read again, less those that had arrived */
    int64_t last_number;
    size_t tail_length;
    char tail[MARK_BYTES - 1]; /* of the body, where a mark may have begun */
};

static int digit_of(char letter)
{
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    letter |= 0x20;
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

/* Take one byte of the head. */
static void take_head(struct stream *stream, char byte)
{
    static const char empty_line[] = "\r\n\r\n";
    if (stream->at >= 9 && stream->at < 12)
        stream->status = 10 * stream->status + (byte - '0');
    stream->at++;
    stream->head_end = byte == empty_line[stream->head_end] ? stream->head_end + 1 : byte == '\r';
    if (stream->head_end < 4)
        return;
    stream->phase = stream->status == 200 ? OPEN : REFUSED;
    stream->place = IN_SIZE;
    stream->left = 0;
    stream->at = 0;
}

/* Take one byte of the line with the size of a chunk. */
static void take_size(struct stream *stream, char byte)
{
    int digit = digit_of(byte);
    if (byte == '\r' && stream->at > 0) {
        stream->place = BEHIND_SIZE;
    } else if (digit >= 0 && stream->at < 8) {
        stream->left = 16 * stream->left + (uint64_t)digit;
        stream->at++;
    } else {
        stream->phase = LOST;
    }
}

/* Take one byte of what stands between chunks. */
static void take_between(struct stream *stream, char byte)
{
    static const char line_end[] = "\r\n";
    if (stream->place == BEHIND_SIZE) {
        if (byte != '\n')
            stream->phase = LOST;
        stream->place = stream->left > 0 ? IN_CHUNK : BEHIND_LAST;
        stream->at = 0;
        return;
    }
    if (byte != line_end[stream->at++]) {
        stream->phase = LOST;
    } else if (stream->at == 2) {
        if (stream->place == BEHIND_LAST)
            stream->phase = ENDED;
        stream->place = IN_SIZE;
        stream->at = 0;
    }
}

/* Put what a piece has of the body behind `body`, and return how much that is. */
static size_t decode(struct stream *stream, const char *piece, size_t length, char *body)
{
    size_t found = 0;
    for (size_t at = 0; at < length && (stream->phase == ASKED || stream->phase == OPEN);) {
        if (stream->place == IN_CHUNK) {
            size_t taken = stream->left < length - at ? (size_t)stream->left : length - at;
            memcpy(body + found, piece + at, taken);
            found += taken;
            at += taken;
            stream->left -= taken;
            if (stream->left == 0) {
                stream->place = BEHIND_CHUNK;
                stream->at = 0;
            }
        } else if (stream->place == IN_HEAD) {
            take_head(stream, piece[at++]);
        } else if (stream->place == IN_SIZE) {
            take_size(stream, piece[at++]);
        } else {
            take_between(stream, piece[at++]);
        }
    }
    return found;
}

static bool is_over(const struct stream *stream)
{
    return stream->phase == ENDED || stream->phase == REFUSED || stream->phase == LOST;
}

/* Return the number of a mark, or -1 where these bytes are none. */
static int64_t number_of(const char *mark)
{
    int64_t number = 0;
    for (size_t at = sizeof MARK - 1; at < MARK_BYTES; at++) {
        if (mark[at] < '0' || mark[at] > '9')
            return -1;
        number = 10 * number + (mark[at] - '0');
    }
    return number;
}
