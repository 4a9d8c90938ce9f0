/* One connection: its socket, the request that it sends piece by piece, and the answer that it reads. */
#pragma once

#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "request.h"

enum {
    PIECE_BYTES = 64 * 1024,
    SMALLEST_ANSWER_BYTES = 4096,
    LARGEST_ANSWER_BYTES = 64 * 1024 * 1024,
    LARGEST_HEAD_BYTES = 16 * 1024,
};

enum state {
    POSTING,  /* a request is under way */
    ANSWERED, /* answered before all of it was sent: the rest must follow, or the next could not be told from it */
    PAUSED,   /* until `resume_at`; then the same request again, or the next */
    FINISHED, /* nothing left to do */
};

/* What all connections have in common. */
struct service {
    struct sockaddr_in address;
    struct request request;
    int poll;
};

struct connection {
    const struct service *service;
    int socket; /* -1: to be opened for the next request */
    enum state state;
    bool watches_room; /* epoll tells when there is room to send */
    bool is_measured;  /* the request began after the warm-up */
    bool repeats;      /* what comes next is the same request */
    int cannot_send;   /* 0, or the error why the other end takes no more; it may have said more before */
    uint64_t began;
    uint64_t resume_at;

    uint64_t first_number; /* of the request under way */
    size_t rendered;       /* how much of it has been put into pieces */
    size_t next_slot;
    size_t piece_length;
    size_t piece_sent;
    char piece[PIECE_BYTES];

    char *answer;
    size_t answer_length;
    size_t answer_room;
    size_t body_at;      /* 0 until the head is there */
    size_t whole_length; /* of head and body, once the head is there */
    int status;
};

static void watch(struct connection *connection, int operation, bool room)
{
    struct epoll_event event = {.events = EPOLLIN | (room ? EPOLLOUT : 0), .data.ptr = connection};
    if (epoll_ctl(connection->service->poll, operation, connection->socket, &event) != 0)
        fail("epoll_ctl: %s", strerror(errno));
    connection->watches_room = room;
}

static void watch_room(struct connection *connection, bool wanted)
{
    if (connection->watches_room != wanted)
        watch(connection, EPOLL_CTL_MOD, wanted);
}

/* Connecting is not waited for: the first send finds no room, and epoll tells when there is some, or that it failed. */
static void open_socket(struct connection *connection)
{
    const struct sockaddr_in *address = &connection->service->address;
    int one = 1;
    connection->socket = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (connection->socket < 0)
        fail("socket: %s", strerror(errno));
    setsockopt(connection->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    /* A failure to connect is met again by the first send or read. */
    (void)connect(connection->socket, (const struct sockaddr *)address, sizeof *address);
    watch(connection, EPOLL_CTL_ADD, false);
    connection->cannot_send = 0;
}

static void close_socket(struct connection *connection)
{
    close(connection->socket);
    connection->socket = -1;
}

/* Put what comes next of the request into the piece. A number is never cut in two. */
static void render_piece(struct connection *connection)
{
    const struct request *request = &connection->service->request;
    size_t begin = connection->rendered;
    size_t end = begin + PIECE_BYTES < request->length ? begin + PIECE_BYTES : request->length;
    memcpy(connection->piece, request->bytes + begin, end - begin);
    for (; connection->next_slot < request->slot_count; connection->next_slot++) {
        struct slot slot = request->slots[connection->next_slot];
        if (slot.at + (size_t)slot.digits > end) {
            end = slot.at < end ? slot.at : end;
            break;
        }
        write_number(connection->piece + (slot.at - begin), slot.digits,
                     connection->first_number + (uint64_t)request->step * connection->next_slot);
    }
    connection->rendered = end;
    connection->piece_length = end - begin;
    connection->piece_sent = 0;
}

static bool is_all_sent(const struct connection *connection)
{
    return connection->rendered == connection->service->request.length &&
           connection->piece_sent == connection->piece_length;
}

/* Send until all is sent or there is no room. */
static void send_on(struct connection *connection)
{
    while (!connection->cannot_send && !is_all_sent(connection)) {
        if (connection->piece_sent == connection->piece_length)
            render_piece(connection);
        ssize_t sent = send(connection->socket, connection->piece + connection->piece_sent,
                            connection->piece_length - connection->piece_sent, MSG_NOSIGNAL);
        if (sent >= 0) {
            connection->piece_sent += (size_t)sent;
        } else if (errno == EAGAIN) {
            watch_room(connection, true);
            return;
        } else if (errno != EINTR) {
            /* An answer may have come before: what there is to read decides, and epoll will say that there is. */
            connection->cannot_send = errno;
        }
    }
    watch_room(connection, false);
}

static void send_request(struct connection *connection)
{
    connection->state = POSTING;
    connection->rendered = connection->next_slot = 0;
    connection->piece_length = connection->piece_sent = 0;
    connection->answer_length = connection->body_at = 0;
    if (connection->socket < 0)
        open_socket(connection);
    send_on(connection);
}

/* Read what has come behind what is there of the answer. Return as `recv` does. */
static ssize_t receive(struct connection *connection)
{
    /* One byte stays free, so that a head is always text. */
    if (connection->answer_length + 1 >= connection->answer_room) {
        connection->answer_room = connection->answer_room > 0 ? 2 * connection->answer_room : SMALLEST_ANSWER_BYTES;
        connection->answer = checked(realloc(connection->answer, connection->answer_room));
    }
    ssize_t received = recv(connection->socket, connection->answer + connection->answer_length,
                            connection->answer_room - connection->answer_length - 1, 0);
    if (received > 0)
        connection->answer_length += (size_t)received;
    return received;
}

/* Return the value of a header of the answer, with what follows it, or NULL. */
static const char *header(const struct connection *connection, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = strstr(connection->answer, "\r\n"); line != NULL; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, length) == 0 && line[length] == ':')
            return line + length + 1 + strspn(line + length + 1, " \t");
    }
    return NULL;
}

/* Read the head of the answer if all of it is there. Return what is wrong with it, or NULL. */
static const char *read_head(struct connection *connection)
{
    char *end = memmem(connection->answer, connection->answer_length, "\r\n\r\n", 4);
    if (end == NULL)
        return connection->answer_length > LARGEST_HEAD_BYTES ? "an answer whose head does not end" : NULL;
    end[2] = '\0'; /* so that no line of the body is taken for a header */
    if (sscanf(connection->answer, "HTTP/1.%*1d %3d", &connection->status) != 1 || connection->status < 200)
        return "an answer without a status";
    const char *length = header(connection, "content-length");
    if (length == NULL && connection->status != 204 && connection->status != 304)
        return "an answer without a Content-Length";
    connection->body_at = (size_t)(end - connection->answer) + 4;
    connection->whole_length = connection->body_at + (length == NULL ? 0 : strtoull(length, NULL, 10));
    return connection->whole_length > LARGEST_ANSWER_BYTES ? "an answer that is too long" : NULL;
}
