/* The request: head and body as bytes, and where in them the numbers go. */
#pragma once

#include <sys/stat.h>

#include "arguments.h"

enum { LONGEST_NUMBER = 12 };

struct slot {
    size_t at;
    int digits;
};

struct request {
    char *bytes;
    size_t length;
    struct slot *slots;
    size_t slot_count;
    /* 1 where every place takes a number of its own, 0 where all places of a request have the same. */
    int step;
};

static char *read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    struct stat status;
    if (file == NULL || fstat(fileno(file), &status) != 0)
        fail("cannot read %s: %s", path, strerror(errno));
    *length = (size_t)status.st_size;
    char *bytes = checked(malloc(*length + 1));
    if (fread(bytes, 1, *length, file) != *length)
        fail("cannot read all of %s", path);
    fclose(file);
    bytes[*length] = '\0';
    return bytes;
}

/* Return the length of the mark for a number that begins here, or 0. */
static size_t mark_at(const char *text, int *digits)
{
    if (strncmp(text, "{n}", 3) == 0) {
        *digits = LONGEST_NUMBER;
        return 3;
    }
    if (strncmp(text, "{n:", 3) == 0 && text[3] >= '1' && text[3] <= '9' && text[4] == '}') {
        *digits = text[3] - '0';
        return 5;
    }
    return 0;
}

/* Write the body with zeros where numbers go, and note the places. */
static void expand_body(struct request *request, const char *template, size_t template_length)
{
    request->bytes = checked(malloc(template_length * LONGEST_NUMBER / 3 + LONGEST_NUMBER));
    for (size_t at = 0; at < template_length;) {
        int digits;
        size_t mark = mark_at(template + at, &digits);
        if (mark == 0) {
            request->bytes[request->length++] = template[at++];
            continue;
        }
        if (request->slot_count % 1024 == 0)
            request->slots =
                checked(realloc(request->slots, (request->slot_count + 1024) * sizeof *request->slots));
        request->slots[request->slot_count++] = (struct slot){request->length, digits};
        memset(request->bytes + request->length, '0', (size_t)digits);
        request->length += (size_t)digits;
        at += mark;
    }
}

static struct request make_request(const char *to, const char *path, const char *headers, const char *body_file,
                                   int step)
{
    struct request request = {.step = step};
    size_t template_length;
    char *template = read_file(body_file, &template_length);
    expand_body(&request, template, template_length);
    free(template);

    char *head;
    int head_length = asprintf(&head, "POST %s HTTP/1.1\r\nHost: %s\r\n%sContent-Length: %zu\r\n\r\n", path, to, headers,
                               request.length);
    if (head_length < 0)
        fail("out of memory");
    char *whole = checked(malloc((size_t)head_length + request.length));
    memcpy(whole, head, (size_t)head_length);
    memcpy(whole + head_length, request.bytes, request.length);
    free(head);
    free(request.bytes);
    request.bytes = whole;
    request.length += (size_t)head_length;
    for (size_t slot = 0; slot < request.slot_count; slot++)
        request.slots[slot].at += (size_t)head_length;
    return request;
}

static void write_number(char *at, int digits, uint64_t number)
{
    for (int place = digits - 1; place >= 0; place--, number /= 10)
        at[place] = (char)('0' + number % 10);
}
